"""Tasks of one's own at compiled speed: MountainCar with varying gravity and engine, in three kernels and a list.

Run it: python examples/compiled_mountain_car.py [blocks]
"""

import sys
from typing import NamedTuple

import gymnasium
import numpy as np

import repertory
from repertory.domains.domain import CompiledTasks, KernelEnv, TaskKernels
from repertory.kernels.compile import kernel
from repertory.kernels.streams import uniform


class Car(NamedTuple):
    """One task. The state is an array: position, velocity, steps lived."""

    gravity: float
    engine: float


@kernel
def reset(car, state, stream):
    state[0], state[1], state[2] = -0.6 + 0.2 * uniform(stream), 0.0, 0


@kernel
def step(car, state, action, stream):
    velocity = state[1] + (action - 1) * car.engine - np.cos(3 * state[0]) * car.gravity
    state[1] = min(max(velocity, -0.07), 0.07)
    state[0] = min(max(state[0] + state[1], -1.2), 0.6)
    if state[0] == -1.2:
        state[1] = max(state[1], 0.0)
    state[2] += 1
    return -1.0, state[0] >= 0.5, state[2] >= 200  # reward, terminated, truncated


@kernel
def observe(car, state, observation):
    observation[0], observation[1] = state[0], state[1] * 10


class CarEnv(KernelEnv):
    def __init__(self, tasks: CompiledTasks, task: int) -> None:
        super().__init__(tasks, task)
        self.observation_space = gymnasium.spaces.Box(-2, 2, (2,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(3)


cars = [Car(gravity, engine) for gravity in (0.002, 0.0025, 0.003) for engine in (0.001, 0.0015)]
compiled = CompiledTasks(TaskKernels(reset, step, observe), cars, lambda: np.zeros(3), observation_size=2)
domain = repertory.Domain("mountain-cars", tuple(map(str, cars)), lambda task: CarEnv(compiled, task), compiled)

if __name__ == "__main__":
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    learner, by_return = repertory.DQN(learning_starts=2_000), repertory.ThompsonSampling()  # every step costs the same
    record = repertory.live(domain, learner, 3, by_return, blocks=blocks, block_steps=10_000)
    print(record.library().table().to_string())
    print(f"mean return: {record.lifetime_score:.1f}, of the last ten blocks {record.final_score:.1f}")
