"""How much can any policy score on the paper's Cartpole tasks, as its text has them?

With a push of 1 N, not every start can be saved. Linearised, cart and pole have one unstable mode z, which grows by a
factor each step and can be pushed back by a fixed amount at most: beyond some |z|, no policy keeps the pole up. Starts
inside count as perfect episodes, starts outside last as long as pushing against the fall lets them: this
is a bound from above, up to the linearisation.

    python examples/cartpole_ceiling.py
"""

from __future__ import annotations

import numpy as np

import repertory
from repertory.domains.cartpole import GRAVITY, TIME_STEP, CartpoleParams, step
from repertory.kernels.streams import new_stream

STARTS = 2000


def unstable_mode(task: CartpoleParams) -> tuple[np.ndarray, float]:
    """The weights of (angle, angular velocity) in z, and the largest |z| from which the pole can be saved."""
    mass = task.cart_mass + task.pole_mass
    inertia = task.half_length * (4 / 3 - task.pole_mass / mass)
    pull, push = GRAVITY / inertia, task.force / (mass * inertia)
    growth, modes = np.linalg.eig(np.array([[1, TIME_STEP], [TIME_STEP * pull, 1]]).T)
    unstable = int(growth.argmax())
    weights = modes[:, unstable] / modes[1, unstable]
    return weights, TIME_STEP * push / (growth[unstable] - 1)


def ceiling(task: CartpoleParams, rng: np.random.Generator) -> float:
    """The mean return that no policy can pass."""
    weights, largest = unstable_mode(task)
    stream, returns = new_stream(0), []
    for start in rng.uniform(-task.start_range, task.start_range, (STARTS, 4)):
        z = float(weights @ start[2:])
        total = float(task.max_steps)
        if abs(z) > largest:
            state, total, over = np.append(start, 0.0), 0.0, False
            while not over:
                reward, terminated, truncated = step(task, state, int(z > 0), stream)
                total, over = total + reward, terminated or truncated
        returns.append(total)
    return float(np.mean(returns))


def main() -> None:
    domain = repertory.domain("cartpole27")
    rng = np.random.default_rng(0)
    assert domain.compiled is not None
    ceilings = [ceiling(task, rng) for task in domain.compiled.params]
    for name, most in zip(domain.task_names, ceilings, strict=True):
        print(f"{name:40} {most:6.1f}")
    print(f"{'mean of all tasks':40} {np.mean(ceilings):6.1f}")


if __name__ == "__main__":
    main()
