"""The smallest learner: a table of values, on four frozen lakes, with two policies for them."""

from __future__ import annotations

import argparse
import json
from typing import Any

import gymnasium
import numpy as np

import repertory

LAKES = {
    "west shore": ["SFFF", "FHHH", "FHHH", "FFFG"],
    "west shore, thawing": ["SFHH", "FHHH", "FHHH", "FFFG"],
    "north shore": ["SFFF", "FHHF", "FHHF", "HHHG"],
    "north shore, thawing": ["SFFF", "HHHF", "HHHF", "HHHG"],
}


class TabularQ:
    """Q-learning (Watkins, 1989) with epsilon-greedy exploration."""

    def __init__(self, observation_space: Any, action_space: Any, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.q = np.zeros((observation_space.n, action_space.n))

    def begin_episode(self) -> None: ...

    def act(self, state: int) -> int:
        if self.rng.random() < 0.1:
            return int(self.rng.integers(self.q.shape[1]))
        return int(self.rng.choice(np.flatnonzero(self.q[state] == self.q[state].max())))  # ties at random

    def observe(self, s_t: int, a_t: int, r_t1: float, s_t1: int, terminated: bool, truncated: bool) -> None:
        target = r_t1 + 0.95 * (not terminated) * self.q[s_t1].max()
        self.q[s_t, a_t] += 0.2 * (target - self.q[s_t, a_t])

    def state_dict(self) -> dict[str, np.ndarray]:
        return {"q": self.q.copy(), "rng": np.array(json.dumps(self.rng.bit_generator.state))}

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        self.q = state["q"].copy()
        self.rng.bit_generator.state = json.loads(str(state["rng"]))


def lake(task: int) -> gymnasium.Env:
    return gymnasium.make("FrozenLake-v1", desc=list(LAKES.values())[task], is_slippery=False, max_episode_steps=50)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=40)
    blocks = parser.parse_args().blocks
    domain = repertory.Domain("frozen lakes", tuple(LAKES), lake)
    record = repertory.live(domain, TabularQ, policies=2, blocks=blocks, block_steps=500)
    print(record.blocks.groupby("task")["mean_return"].agg(["first", "last"]).rename(index=dict(enumerate(LAKES))))
