"""POcman DRQN in training: repertory against an equivalent written in PyTorch for this comparison."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from repertory import DRQN, domain
from repertory.benchmarks.measure import Contender, build, training
from repertory.learners import drqn
from repertory.learners.drqn import DRQNLearner

TASK = 10
SETTINGS = DRQN(learning_starts=2_000)
REPERTORY_STEPS = 10_000
TORCH_STEPS = 1_000


def repertory_drqn(learner: DRQNLearner | None = None) -> Contender:
    learner = learner or build("pocman18", SETTINGS)
    return training("pocman18", TASK, learner, REPERTORY_STEPS, warm_up=2 * SETTINGS.learning_starts)


def flops_of_update(observations: int) -> float:
    """Multiplications and additions in the products of one update: forward twice, backward as much as two forwards.

    `observations` go through the input layers; every step of every window but the first has a recurrent product.
    """
    inputs, (dense, units), actions = 11, SETTINGS.net_arch, 5
    rows, steps = SETTINGS.batch_size, SETTINGS.window
    embedding = 2.0 * observations * (inputs * dense + dense * 4 * units)
    recurrent = 2.0 * rows * (steps - 1) * units * 4 * units
    return 4 * (embedding + recurrent + 2.0 * rows * units * actions)


class UpdateSpeed(NamedTuple):
    """Floating-point operations a second during updates."""

    done: float
    """In the products that are really computed."""
    plain: float
    """In those of the same updates without equal observations sharing their input products."""


def update_speed(repeats: int = 5, updates: int = 200) -> UpdateSpeed:
    learner = build("pocman18", SETTINGS)
    repertory_drqn(learner)()
    best = 0.0
    for _ in range(repeats):
        started = time.perf_counter()
        for _ in range(updates):
            drqn.compute_gradient(learner.arrays)
        best = max(best, updates / (time.perf_counter() - started))
    distinct = int(learner.policy["places"].max()) + 1
    every = SETTINGS.batch_size * SETTINGS.window
    return UpdateSpeed(best * flops_of_update(distinct), best * flops_of_update(every))


def torch_drqn() -> Contender:
    import torch

    torch.set_num_threads(1)
    agent = TorchDRQN(torch)
    agent.live(SETTINGS.learning_starts + 200)

    def work() -> int:
        agent.live(TORCH_STEPS)
        return TORCH_STEPS

    return work


class TorchDRQN:
    """The same algorithm in plain PyTorch, observations in a NumPy ring, windows by fancy indexing."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.rng = np.random.default_rng(0)
        self.env = domain("pocman18").env(TASK)
        self.online, self.target = self._network(), self._network()
        self.target.load_state_dict(self.online.state_dict())
        self.optimiser = torch.optim.Adadelta(self.online.parameters(), lr=0.1, rho=0.95, eps=1e-7)
        size = SETTINGS.buffer_size
        self.observations = np.zeros((size, 11), np.float32)
        self.actions, self.rewards = np.zeros(size, np.int64), np.zeros(size, np.float32)
        self.starts = np.zeros(size, np.int64)
        self.steps, self.start = 0, 0
        self.observation, _ = self.env.reset(seed=0)

    def _network(self) -> Any:
        torch, (dense, units) = self.torch, SETTINGS.net_arch

        class Network(torch.nn.Module):  # type: ignore[name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.dense = torch.nn.Linear(11, dense)
                self.lstm = torch.nn.LSTM(dense, units, batch_first=True)
                self.head = torch.nn.Linear(units, 5)

            def forward(self, windows: Any) -> Any:
                hidden, _state = self.lstm(torch.relu(self.dense(windows)))
                return self.head(hidden[:, -1])

        return Network()

    def live(self, steps: int) -> None:
        for _ in range(steps):
            self.observations[self.steps] = self.observation
            self.starts[self.steps] = self.start
            action = self._act()
            self.observation, reward, terminated, truncated, _ = self.env.step(action)
            self.actions[self.steps], self.rewards[self.steps] = action, reward
            self.steps += 1
            if terminated or truncated:
                self.observation, _ = self.env.reset()
                self.start = self.steps
            if self.steps >= SETTINGS.learning_starts and self.steps % SETTINGS.train_freq == 0:
                self._update()
            if self.steps % SETTINGS.target_update_interval == 0:
                self.target.load_state_dict(self.online.state_dict())

    def _act(self) -> int:
        if self.rng.random() < SETTINGS.exploration_rate or self.steps - self.start < SETTINGS.random_first_steps:
            return int(self.rng.integers(5))
        first = max(self.start, self.steps - SETTINGS.window + 1)
        with self.torch.no_grad():
            window = self.torch.from_numpy(self.observations[None, first : self.steps + 1])
            return int(self.online(window).argmax())

    def _update(self) -> None:
        torch, rows, window = self.torch, SETTINGS.batch_size, SETTINGS.window
        full = np.flatnonzero(np.arange(self.steps - 1) - self.starts[: self.steps - 1] >= window)
        last = self.rng.choice(full, rows)
        places = last[:, None] + np.arange(-window + 1, 1)
        q = self.online(torch.from_numpy(self.observations[places]))
        with torch.no_grad():
            best = self.target(torch.from_numpy(self.observations[places + 1])).max(dim=1).values
            goal = torch.from_numpy(self.rewards[last]) + SETTINGS.gamma * best
        taken = q[torch.arange(rows), torch.from_numpy(self.actions[last])]
        loss = ((taken - goal) ** 2).mean() / 5
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(self.online.parameters(), SETTINGS.max_grad_value)
        self.optimiser.step()
