"""The environments and learners whose fit docs/spaces.md tells: `tests/test_spaces.py` makes its table of them.

Packages that need not be here are stood in for by environments of the same spaces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

import repertory
from repertory.profiles import with_profile

spaces = gymnasium.spaces


class StandIn(gymnasium.Env):
    """Random observations of a space; the first action, or the lowest, pays. Episodes of ten steps."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, observation_space: gymnasium.Space, action_space: gymnasium.Space, pay: float) -> None:
        self.observation_space, self.action_space, self.render_mode = observation_space, action_space, "rgb_array"
        self._pay = pay

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self._steps = 0
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        reward = self._pay * float(np.mean(action) <= 0)
        return self.observation_space.sample(), reward, self._steps == 10, False, {}

    def render(self) -> Any:
        return np.zeros((16, 16, 3), np.uint8)


class InParts(gymnasium.ObservationWrapper):
    """Of a vector its first two numbers, its others, and a choice."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        low, high = env.observation_space.low, env.observation_space.high
        self.observation_space = spaces.Dict(
            {"lamp": spaces.Discrete(3), "place": spaces.Box(low[:2], high[:2]), "turn": spaces.Box(low[2:], high[2:])}
        )

    def observation(self, observation: Any) -> Any:
        return {"lamp": np.int64(observation[0] > 0), "place": observation[:2], "turn": observation[2:]}


class InATuple(InParts):
    """The same, without names."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.observation_space = spaces.Tuple(tuple(self.observation_space.values()))

    def observation(self, observation: Any) -> Any:
        return tuple(super().observation(observation).values())


def made(name: str, **options: Any) -> gymnasium.Env:
    return gymnasium.make(name, max_episode_steps=20, **options)


def stand_in(observation_space: gymnasium.Space, actions: int) -> Callable[[float], gymnasium.Env]:
    return lambda pay: StandIn(observation_space, spaces.Discrete(actions), pay)


def pixels(*shape: int) -> gymnasium.Space:
    return spaces.Box(0, 255, shape, np.uint8)


ROWS: dict[str, Callable[[float], gymnasium.Env]] = {
    "CartPole": lambda change: made("CartPole-v1", sutton_barto_reward=change > 1),
    "Acrobot": lambda change: gymnasium.wrappers.TransformReward(made("Acrobot-v1"), lambda reward: change * reward),
    "LunarLander": stand_in(spaces.Box(-10, 10, (8,)), 4),
    "MiniGrid, flat": stand_in(pixels(2835), 7),
    "FrozenLake": lambda change: made("FrozenLake-v1", is_slippery=change > 1),
    "Pendulum": lambda change: made("Pendulum-v1", g=10 * change),
    "Dict observations": lambda change: InParts(made("CartPole-v1", sutton_barto_reward=change > 1)),
    "Tuple observations": lambda change: InATuple(made("CartPole-v1", sutton_barto_reward=change > 1)),
    "Atari-like images": stand_in(pixels(84, 84, 4), 6),
}
"""By name, what makes an environment of a task; two tasks differ by the number given."""
COMPILED = {"compiled `dqn`": repertory.DQN, "compiled `ppo`": repertory.PPO}
STABLE = {"SB3 DQN": "DQN", "SB3 PPO": "PPO", "SB3 SAC": "SAC", "SB3 RecurrentPPO": "RecurrentPPO"}
COLUMNS = (*COMPILED, *STABLE)
SMALL = {"buffer_size": 200, "protected": 0}
"""What a user of large observations would set; the profile's own is 400,000 experiences."""


def domain_of(row: str) -> repertory.Domain:
    makers = [lambda change=change: ROWS[row](change) for change in (1.0, 2.0)]
    return repertory.tasks(makers, name=row, names=["one", "other"], check=False)


def learner_of(row: str, column: str, is_small: bool = False) -> Any:
    """As a user would choose it: the policy of Stable-Baselines3 that is meant for the observations."""
    if column in COMPILED:
        settings = with_profile(COMPILED[column], "sound")
        return settings.replace(**SMALL) if is_small else settings
    import sb3_contrib
    import stable_baselines3

    from repertory.learners.sb3 import SB3

    name = STABLE[column]
    kind = {"Dict observations": "MultiInput", "Atari-like images": "Cnn"}.get(row, "Mlp")
    if name == "RecurrentPPO":
        return SB3(sb3_contrib.RecurrentPPO, f"{kind}LstmPolicy", n_steps=16, batch_size=16, n_epochs=1)
    algorithm = getattr(stable_baselines3, name)
    if name == "PPO":
        return SB3(algorithm, f"{kind}Policy", n_steps=16, batch_size=16, n_epochs=1)
    return SB3(algorithm, f"{kind}Policy", learning_starts=10, batch_size=8, buffer_size=200)
