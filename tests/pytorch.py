"""PyTorch, the twin that layers and optimisers are held to: where it is not installed, those tests are skipped."""

from __future__ import annotations

import pytest

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is missing; next: pip install 'repertory[sb3]'")
