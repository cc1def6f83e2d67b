"""Numbers and ranges of them as people write them: `0-3,7`."""

from __future__ import annotations

from repertory.errors import UsageError

MOST = 10**5


def parse_numbers(text: str, option: str, called: str) -> list[int]:
    """`0-3,7` to [0, 1, 2, 3, 7], in order and each once; `called` says what is numbered, such as `run`."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        digits = (first, last) if dash else (first,)
        is_number = all(number.isascii() and number.isdigit() and len(number) < 10 for number in digits)
        if not is_number or int(last or first) < int(first):
            raise UsageError(f"{option} is '{text}'; valid: numbers and ranges such as 0-26 or 0,3,5-7")
        if int(last or first) - int(first) >= MOST:
            raise UsageError(f"{option} is '{text}'; valid: at most {MOST} {called}s")
        found |= set(range(int(first), int(last or first) + 1))
    if not found:
        raise UsageError(f"{option} is '{text}', which names no {called}; valid: such as 0-26")
    return sorted(found)
