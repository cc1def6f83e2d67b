"""POcman DRQN in training: repertory against an equivalent written in PyTorch for this comparison."""

from __future__ import annotations

from typing import Any

import numpy as np

from repertory import DRQN, domain
from repertory.benchmarks.flops import SharedWindows, flops_of_drqn_update
from repertory.benchmarks.measure import Contender, build, torch_on_one_thread, training
from repertory.kernels.recurrent import recurrent_rows
from repertory.learners import drqn
from repertory.learners.drqn import DRQNLearner

TASK = 10
INPUTS, ACTIONS = 11, 5
SETTINGS = DRQN(learning_starts=2_000)
REPERTORY_STEPS = 10_000
TORCH_STEPS = 1_000


def repertory_drqn(learner: DRQNLearner | None = None) -> Contender:
    learner = learner or build("pocman18", SETTINGS)
    return training("pocman18", TASK, learner, REPERTORY_STEPS, warm_up=2 * SETTINGS.learning_starts)


def repertory_drqn_updates(updates: int = 200) -> Contender:
    """Gradients alone, one after another, counted in floating-point operations."""
    learner = build("pocman18", SETTINGS)
    repertory_drqn(learner)()
    drqn.compute_gradient(learner.arrays)

    def work() -> float:
        for _ in range(updates):
            drqn.compute_gradient(learner.arrays)
        return updates * flops_of_drqn_update(SETTINGS, INPUTS, ACTIONS, shared_windows(learner))

    return work


def shared_windows(learner: DRQNLearner) -> SharedWindows:
    """Of the last batch: equal observations share their input products, windows that begin alike their first steps."""
    scratch = learner.scratch
    rows = (recurrent_rows(scratch[f"{network}_forest"], SETTINGS.window) for network in ("online", "target"))
    return SharedWindows(int(scratch["places"].max()) + 1, *rows)


def torch_drqn() -> Contender:
    agent = TorchDRQN(torch_on_one_thread())
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
        self.observations = np.zeros((size, INPUTS), np.float32)
        self.actions, self.rewards = np.zeros(size, np.int64), np.zeros(size, np.float32)
        self.starts = np.zeros(size, np.int64)
        self.steps, self.start = 0, 0
        self.observation, _ = self.env.reset(seed=0)

    def _network(self) -> Any:
        torch, (dense, units) = self.torch, SETTINGS.net_arch

        class Network(torch.nn.Module):  # type: ignore[name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.dense = torch.nn.Linear(INPUTS, dense)
                self.lstm = torch.nn.LSTM(dense, units, batch_first=True)
                self.head = torch.nn.Linear(units, ACTIONS)

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
            return int(self.rng.integers(ACTIONS))
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
        loss = ((taken - goal) ** 2).mean() / ACTIONS
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(self.online.parameters(), SETTINGS.max_grad_value)
        self.optimiser.step()
