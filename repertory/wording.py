"""Words of messages that depend on numbers."""

from __future__ import annotations

from collections.abc import Sequence

from repertory.errors import one_line


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 run`, `2 runs`, `1,000 policies`."""
    return f"{number:,} {noun if number == 1 else plural or _plural(noun)}"


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{noun}s"


def distinct_parts(names: Sequence[str]) -> list[str]:
    """Names without the words that all of them have in the same place: `cart 1 kg, pole 2 kg` may become `1 2`."""
    words = [name.split() for name in names]
    if len(names) < 2 or len({len(each) for each in words}) > 1:
        return list(names)
    kept = [place for place in range(len(words[0])) if len({each[place] for each in words}) > 1]
    brief = [" ".join(each[place].rstrip(",;") for place in kept) for each in words]
    return brief if all(brief) and len(set(brief)) == len(set(names)) else list(names)


def task_labels(names: Sequence[str], longest: int = 26) -> list[str]:
    """Labels of tasks on an axis: number, and what tells the task from the others as far as there is space for it."""
    lines = [f"{place}: {name}" for place, name in enumerate(distinct_parts([one_line(name) for name in names]))]
    return [line if len(line) <= longest else f"{line[: longest - 3].rstrip()}..." for line in lines]
