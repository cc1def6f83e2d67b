"""Plain values from the text of a command line: numbers, true and false, none, JSON, and else the text itself."""

from __future__ import annotations

import json
from typing import Any

WORDS = {"true": True, "false": False, "none": None, "null": None}
OPENING, CLOSING = "([{", ")]}"


def value_of(text: Any) -> Any:
    """The value that a text means; what is no text is itself.

    >>> value_of("-6"), value_of("1e-3"), value_of("False"), value_of("[64, 64]"), value_of("MlpPolicy")
    (-6, 0.001, False, [64, 64], 'MlpPolicy')
    """
    if not isinstance(text, str):
        return text
    stripped = text.strip()
    if stripped.lower() in WORDS:
        return WORDS[stripped.lower()]
    for kind in (int, float):
        try:
            return kind(stripped)
        except ValueError:
            continue
    try:
        return json.loads(stripped) if stripped[:1] in ("[", "{", '"') else text
    except (ValueError, RecursionError):
        return text


def values_of(text: str) -> list[Any]:
    """The values between the commas of a text; commas in brackets belong to a value.

    >>> values_of("-10,-6,[1,2]")
    [-10, -6, [1, 2]]
    """
    parts, depth = [""], 0
    for character in text:
        depth += (character in OPENING) - (character in CLOSING)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [value_of(part) for part in parts]
