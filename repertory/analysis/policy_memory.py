"""The memory that a library takes, and may take."""

from __future__ import annotations

from repertory.errors import UsageError
from repertory.learners.compiled_policy import memory_of
from repertory.runs.spec import RunSpec


def policy_memory(spec: RunSpec) -> int | None:
    """Bytes of one policy once its memories are full, if it can tell."""
    policy = spec.lifetime().policies[0]
    return memory_of(policy) if hasattr(policy, "state_dict") else None


def check_memory(memory: int | None, policy_bytes: int | None, fewest: int) -> None:
    """Fail if not even the smallest library that is compared fits into memory."""
    if memory is None:
        return
    if policy_bytes is None:
        raise UsageError("this learner has no state_dict, so its memory is not known; leave out memory")
    if memory < fewest * policy_bytes:
        library = "a single policy takes" if fewest == 1 else f"{fewest} policies, the fewest compared, take"
        raise UsageError(
            f"memory is {memory / 1e6:.1f} MB; {library} {fewest * policy_bytes / 1e6:.1f} MB: "
            "give more, or a smaller replay memory (learner.buffer_size)"
        )


def parse_memory(text: str) -> int:
    """`200MB`, `1.5 GB`, `64000` to bytes."""
    units = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
    compact = text.replace(" ", "").upper()
    number = compact.rstrip("KMGIB")
    try:
        amount = float(number) * units[compact[len(number) :]]
    except (ValueError, KeyError):
        raise UsageError(f"memory is '{text}'; valid: such as 200MB or 1.5GB") from None
    if not 0 < amount < float("inf"):
        raise UsageError(f"memory is '{text}'; valid: above 0")
    return int(amount)
