"""What a Stable-Baselines3 policy is besides its algorithm: its random numbers, and nested values as plain arrays."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import torch as th
from numpy.typing import NDArray

from repertory.learners.numpy_state import as_state, bring_back, put_away
from repertory.learners.protocol import State

# ------------------------------------------------------------------------------------------- random numbers


class Generators:
    """A policy's own state of the generators that a whole process shares: Python's, NumPy's and PyTorch's.

    Stable-Baselines3 draws from these. They are the policy's from `begin_episode` to the episode's end and then as they
    were before: policies cannot leak into one another, and an environment that draws from them too, as careless ones
    do, is decided by the policy's seed. To do this at every step would cost a tenth of it.
    """

    _playing: ClassVar[Generators | None] = None
    """Whose numbers the process draws now."""
    _outside: ClassVar[Any] = None
    """The process's own state while somebody plays."""

    def __init__(self, device: th.device) -> None:
        self._gpu = device if device.type == "cuda" else None
        self._state: Any = None

    def take(self) -> None:
        playing = Generators._playing
        if playing is self:
            return
        if playing is None:
            Generators._outside = self._read()
        else:
            playing._state = playing._read()  # its episode was broken off, or two are played at once
        self._write(self._state)
        Generators._playing = self

    def give_back(self) -> None:
        if Generators._playing is self:
            self._state = self._read()
            self._write(Generators._outside)
            Generators._playing = None

    def state(self) -> Any:
        """For saving."""
        if Generators._playing is self:
            self._state = self._read()
            self._write(self._state)
        if self._state is None:
            return None
        in_python, in_numpy, *others = self._state
        return [in_python, as_state(in_numpy), *others]

    def load(self, state: Any) -> None:
        self._state = state
        if Generators._playing is self:
            self._write(state)

    def _read(self) -> Any:
        on_gpu = None if self._gpu is None else th.cuda.get_rng_state(self._gpu).numpy()
        return [random.getstate(), put_away(), th.get_rng_state().numpy(), on_gpu]

    def _write(self, state: Any) -> None:
        if state is None:  # a policy being built: its algorithm is about to seed them all
            return
        in_python, in_numpy, in_torch, on_gpu = state
        random.setstate(in_python)
        bring_back(in_numpy)
        th.set_rng_state(th.from_numpy(in_torch))
        if self._gpu is not None and on_gpu is not None:
            th.cuda.set_rng_state(th.from_numpy(on_gpu), self._gpu)


@contextmanager
def drawn_by(rng: np.random.Generator) -> Iterator[None]:
    """Whatever is drawn inside comes from `rng`, and the generators that all share are then as they were."""
    in_numpy = np.random.get_state(legacy=False)  # noqa: NPY002
    seed = int(rng.integers(2**31))
    with th.random.fork_rng():
        np.random.seed(seed)  # noqa: NPY002
        th.manual_seed(seed)
        try:
            yield
        finally:
            np.random.set_state(in_numpy)  # noqa: NPY002


# -------------------------------------------------------------------------- nested values as arrays and text


def pack(value: Any, name: str, arrays: State) -> Any:
    """A nested value as JSON can hold it; copies of its arrays and tensors go to `arrays`, named by their paths."""
    if isinstance(value, th.Tensor):
        arrays[name] = np.array(value.detach().cpu().numpy())
        return {"tensor": name}
    if isinstance(value, np.ndarray):
        arrays[name] = np.array(value)
        return {"array": name}
    if isinstance(value, dict):
        return {"dict": [[key, pack(part, f"{name}/{key}".lstrip("/"), arrays)] for key, part in value.items()]}
    if isinstance(value, (list, tuple)):
        parts = [pack(part, f"{name}/{place}", arrays) for place, part in enumerate(value)]
        return {"tuple" if isinstance(value, tuple) else "list": parts}
    return value


def unpack(packed: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The nested value that `pack` took apart; it shares no memory with `arrays`."""
    if not isinstance(packed, dict):
        return packed
    ((kind, content),) = packed.items()
    if kind == "tensor":
        return th.tensor(arrays[content])
    if kind == "array":
        return np.array(arrays[content])
    if kind == "dict":
        return {key: unpack(part, arrays) for key, part in content}
    parts = [unpack(part, arrays) for part in content]
    return tuple(parts) if kind == "tuple" else parts
