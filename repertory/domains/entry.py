"""A domain that can be asked for by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from repertory.domains.domain import Domain
from repertory.settings import Settings


@dataclass(frozen=True)
class DomainEntry:
    """A domain that can be asked for by name: its rules and what builds it from them."""

    rules: type[Settings]
    build: Callable[[Any], Domain]
    blocks: int
    block_steps: int
    """The length of a lifetime in the paper, or a sensible one."""
