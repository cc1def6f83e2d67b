"""What libraries that grow have in common: as many policies as there are now, and news of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repertory.agents.library import SavedInParts
from repertory.agents.protocol import Event
from repertory.learners.protocol import State


class News:
    """What has happened to an agent's policies and was not told yet, as a part that is saved with it."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def tell(self, event: str, **details: int | str) -> None:
        self._events.append({"event": event, **details})

    def told(self) -> list[Event]:
        """All of it; from now on it is old."""
        events, self._events = self._events, []
        return events

    def state_dict(self) -> State:
        return {"json": np.frombuffer(json.dumps(self._events).encode(), np.uint8)}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._events = json.loads(state["json"].tobytes())


class GrowingAgent(SavedInParts):
    """An agent that has news, and is loaded with as many policies as were saved."""

    def __init__(self, new_policy: Callable[[int], Any]) -> None:
        self._new_policy = new_policy
        self._news = News()
        self.policies: list[Any] = []

    def news(self) -> list[Event]:
        return self._news.told()

    def parts(self) -> dict[str, Any]:
        return {"news": self._news, **super().parts()}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        saved = {name.partition("/")[0] for name in state}
        self.policies = [self._new_policy(0) for name in saved if name.startswith("policy ")]
        super().load_state_dict(state)
