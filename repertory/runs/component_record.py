"""How the record of a run describes its components, so that a run is resumed only with the same ones.

Settings describe themselves. A user's own function or class is described by its name and a fingerprint of its source
code and of the values bound to it. Where the code cannot be read, the run can be saved but not resumed.
"""

from __future__ import annotations

import json
from typing import Any

from repertory import catalogue
from repertory.fingerprint import code_fingerprint
from repertory.settings import Settings

CODE = "code"


def described(component: object) -> dict[str, Any]:
    """Plain values: the name, and settings or the fingerprint of the code."""
    name = catalogue.name_of(component)
    if isinstance(component, Settings):
        return {"name": name, **component.as_dict()}
    as_dict = getattr(component, "as_dict", None)
    if as_dict is not None and not isinstance(component, type):
        return {"name": name, **json.loads(json.dumps(as_dict()))}
    fingerprint = code_fingerprint(component)
    return {"name": name} if fingerprint is None else {"name": name, CODE: fingerprint}


def is_described(component: object) -> bool:
    """Whether `described` tells this component from all others."""
    description = described(component)
    describes_itself = hasattr(component, "as_dict") and getattr(component, "is_described", True)
    return isinstance(component, Settings) or describes_itself or CODE in description
