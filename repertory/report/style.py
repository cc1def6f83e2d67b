"""What all figures share."""

from __future__ import annotations

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7f7f7f")
"""Told apart by colour-blind eyes as well (after Okabe and Ito)."""
