"""A learner in PyTorch, in one file: copy it, change it. REINFORCE (Williams, 1992) with a learned baseline.

    python examples/torch_learner.py --blocks 30

Three things make it a good member of a library: it learns in `observe` only, it draws from a generator of its own, and
`state_dict` holds everything that decides its future.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import nn

import repertory


@dataclass(frozen=True)
class Reinforce:
    """Settings; calling them builds a learner, as `repertory.live` does once for each policy."""

    learning_rate: float = 2e-2
    """Adam's step size."""
    gamma: float = 0.99
    """Discount of future reward."""
    hidden: int = 32
    """Width of the hidden layer."""
    value_weight: float = 0.5
    """Weight of the baseline's squared error in the loss."""

    def __call__(self, observation_space: Any, action_space: Any, seed: int) -> ReinforceLearner:
        if not isinstance(action_space, gymnasium.spaces.Discrete):
            raise repertory.UsageError(
                f"Reinforce takes actions 0, 1, ...; this domain's action space is {action_space}"
            )
        return ReinforceLearner(self, int(np.prod(observation_space.shape)), int(action_space.n), seed)


class Network(nn.Module):
    """Logits of the actions, and the value of the state."""

    def __init__(self, inputs: int, hidden: int, actions: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh())
        self.logits = nn.Linear(hidden, actions)
        self.value = nn.Linear(hidden, 1)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.body(observations)
        return self.logits(features), self.value(features).squeeze(-1)


class ReinforceLearner:
    """One policy."""

    def __init__(self, settings: Reinforce, inputs: int, actions: int, seed: int) -> None:
        self.settings = settings
        self.generator = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng(devices=[]):  # layers draw their weights from the generator that all share
            torch.manual_seed(seed)
            self.network = Network(inputs, settings.hidden, actions)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=settings.learning_rate)
        self.episode: list[tuple[Any, int, float]] = []

    def begin_episode(self) -> None:
        self.episode = []

    def act(self, observation: Any) -> int:
        with torch.no_grad():
            logits, _value = self.network(torch.as_tensor(observation, dtype=torch.float32))
        return int(torch.multinomial(logits.softmax(-1), 1, generator=self.generator))

    def observe(
        self, observation: Any, action: int, reward: float, next_observation: Any, terminated: bool, truncated: bool
    ) -> None:
        self.episode.append((np.array(observation, np.float32), action, reward))
        if terminated or truncated:
            with torch.no_grad():
                _logits, last_value = self.network(torch.as_tensor(next_observation, dtype=torch.float32))
            self.learn(0.0 if terminated else float(last_value))  # cut off is not over

    def learn(self, return_t: float) -> None:
        """One gradient step on the episode; `return_t` is the value of what follows it."""
        returns = []
        for _observation, _action, reward in reversed(self.episode):
            return_t = reward + self.settings.gamma * return_t
            returns.append(return_t)
        observations = torch.as_tensor(np.stack([observation for observation, _action, _reward in self.episode]))
        actions = torch.tensor([action for _observation, action, _reward in self.episode])
        targets = torch.tensor(returns[::-1], dtype=torch.float32)

        logits, values = self.network(observations)
        log_probabilities = logits.log_softmax(-1)[torch.arange(len(actions)), actions]
        policy_loss = -(log_probabilities * (targets - values.detach())).mean()
        loss = policy_loss + self.settings.value_weight * ((targets - values) ** 2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()

    def action_probabilities(self, observations: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            logits, _values = self.network(torch.as_tensor(observations, dtype=torch.float32))
        return logits.double().softmax(-1).numpy()

    def is_finite(self) -> bool:
        return all(bool(weights.isfinite().all()) for weights in self.network.parameters())

    def state_dict(self) -> dict[str, np.ndarray]:
        """Arrays only: a stranger's file must not run code. The episode is over whenever a policy is saved."""
        state = {f"weights {name}": tensor.numpy().copy() for name, tensor in self.network.state_dict().items()}
        for number, moments in self.optimizer.state_dict()["state"].items():
            state |= {f"adam {number} {name}": tensor.numpy().copy() for name, tensor in moments.items()}
        return state | {"generator": self.generator.get_state().numpy().copy()}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        tensors = {name: torch.tensor(array) for name, array in state.items()}
        self.generator.set_state(tensors.pop("generator"))
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name in [name for name in tensors if name.startswith("adam ")]:
            _adam, number, moment = name.split(" ")
            moments.setdefault(int(number), {})[moment] = tensors.pop(name)
        self.network.load_state_dict({name.removeprefix("weights "): tensor for name, tensor in tensors.items()})
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": moments})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=30)
    parser.add_argument("--block-steps", type=int, default=1000)
    options = parser.parse_args()
    torch.set_num_threads(1)  # so small a network is slower on two
    record = repertory.live(
        "cartpole27", Reinforce(), policies=3, blocks=options.blocks, block_steps=options.block_steps
    )
    print(record.blocks[["task", "episodes", "mean_return", "policy_0", "policy_1", "policy_2"]].to_string(index=False))
    print(f"mean return: {record.blocks['mean_return'][:5].mean():.0f} at first, {record.final_score:.0f} at the end")
