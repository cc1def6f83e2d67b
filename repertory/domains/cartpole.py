"""Cartpole with varying cart mass, pole mass and pole length: the paper's 27 and 125 tasks, and test beds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.domains.domain import CompiledTasks, Domain, EndFeature, KernelEnv, TaskKernels
from repertory.kernels.compile import kernel
from repertory.kernels.streams import Stream, uniform
from repertory.settings import Settings, other_default, setting

GRAVITY = 9.8
TIME_STEP = 0.02

# Places in a state: the four physical quantities, then the steps of this episode.
X, X_DOT, THETA, THETA_DOT, CLOCK = range(5)


# ---------------------------------------------------------------------------------------------- parameters


@dataclass(frozen=True, kw_only=True)
class CartpoleRules(Settings):
    """The rules that all tasks of a Cartpole domain share. The defaults are the paper's text."""

    force: float = setting(1.0, "Size of the push in newton.", above=0)
    angle_limit: float = setting(15.0, "The pole has fallen past this angle, in degrees.", above=0, at_most=90)
    position_limit: float = setting(2.4, "The cart has left the track past this distance, in metres.", above=0)
    max_steps: int = setting(200, "An episode is cut off after this many steps.", at_least=1)
    failure_reward: float = setting(0.0, "Reward of the step on which the pole falls or the cart leaves.")
    start_range: float = setting(0.05, "All four quantities start uniform from minus this to this.", at_least=0)
    observation_order: str = setting(
        "x theta x_dot theta_dot",
        "Order of the four observed quantities.",
        choices=("x theta x_dot theta_dot", "x x_dot theta theta_dot"),
    )
    total_mass: float | None = setting(
        None, "Cart and pole together in kg, the same for every task; none: each task's own sum.", above=0
    )
    pole_moment: float | None = setting(
        None,
        "Pole mass times half-length in kg m, the same for every task; none: each task's own product.",
        above=0,
    )


@dataclass(frozen=True, kw_only=True)
class GymnasiumRules(CartpoleRules):
    """The rules of Gymnasium's CartPole-v1. They are nothing of the paper's, so no profile changes them."""

    force: float = other_default(CartpoleRules, "force", 10.0)
    angle_limit: float = other_default(CartpoleRules, "angle_limit", 12.0)
    max_steps: int = other_default(CartpoleRules, "max_steps", 500)
    failure_reward: float = other_default(CartpoleRules, "failure_reward", 1.0)
    observation_order: str = other_default(CartpoleRules, "observation_order", "x x_dot theta theta_dot")


class CartpoleParams(NamedTuple):
    """One task, with the rules it is played by.

    A `total_mass` or `pole_moment` of 0 means the task's own; a negative `force` that action 1 pushes left.
    """

    cart_mass: float
    pole_mass: float
    half_length: float
    force: float
    angle_limit: float
    position_limit: float
    max_steps: int
    failure_reward: float
    start_range: float
    angle_second: bool
    total_mass: float
    pole_moment: float


def task_params(cart_mass: float, pole_mass: float, length: float, rules: CartpoleRules) -> CartpoleParams:
    """A task from the quantities of the paper; `length` is the whole length of the pole."""
    return CartpoleParams(
        cart_mass=cart_mass,
        pole_mass=pole_mass,
        half_length=length / 2,
        force=rules.force,
        angle_limit=math.radians(rules.angle_limit),
        position_limit=rules.position_limit,
        max_steps=rules.max_steps,
        failure_reward=rules.failure_reward,
        start_range=rules.start_range,
        angle_second=rules.observation_order == "x theta x_dot theta_dot",
        total_mass=rules.total_mass or 0.0,
        pole_moment=rules.pole_moment or 0.0,
    )


# ------------------------------------------------------------------------------------------------ dynamics


def new_state() -> NDArray[np.float64]:
    return np.zeros(5, np.float64)


@kernel
def reset(params: CartpoleParams, state: NDArray[np.float64], stream: Stream) -> None:
    for i in range(4):
        state[i] = params.start_range * (2.0 * uniform(stream) - 1.0)
    state[CLOCK] = 0.0


@kernel
def step(params: CartpoleParams, state: NDArray[np.float64], action: int, stream: Stream) -> tuple[float, bool, bool]:
    """One explicit Euler step: positions advance with the old velocities.

    Everything that follows from masses and length is derived here, never stored, so that every task has its effect.
    """
    x, x_dot, theta, theta_dot = state[X], state[X_DOT], state[THETA], state[THETA_DOT]
    total_mass = params.total_mass if params.total_mass > 0.0 else params.cart_mass + params.pole_mass
    moment = params.pole_moment if params.pole_moment > 0.0 else params.pole_mass * params.half_length
    force = params.force if action == 1 else -params.force
    cosine, sine = math.cos(theta), math.sin(theta)

    push = (force + moment * (theta_dot * theta_dot) * sine) / total_mass
    theta_acceleration = (GRAVITY * sine - cosine * push) / (
        params.half_length * (4.0 / 3.0 - params.pole_mass * (cosine * cosine) / total_mass)
    )
    x_acceleration = push - moment * theta_acceleration * cosine / total_mass

    state[X] = x + TIME_STEP * x_dot
    state[X_DOT] = x_dot + TIME_STEP * x_acceleration
    state[THETA] = theta + TIME_STEP * theta_dot
    state[THETA_DOT] = theta_dot + TIME_STEP * theta_acceleration
    state[CLOCK] += 1.0

    terminated = abs(state[X]) > params.position_limit or abs(state[THETA]) > params.angle_limit
    truncated = not terminated and state[CLOCK] >= params.max_steps
    reward = params.failure_reward if terminated else 1.0
    return reward, terminated, truncated


@kernel
def observe(params: CartpoleParams, state: NDArray[np.float64], observation: NDArray[np.float32]) -> None:
    observation[0] = state[X]
    observation[3] = state[THETA_DOT]
    if params.angle_second:
        observation[1] = state[THETA]
        observation[2] = state[X_DOT]
    else:
        observation[1] = state[X_DOT]
        observation[2] = state[THETA]


# -------------------------------------------------------------------------------------------------- domain

# Values of cart mass (kg), pole mass (kg) and pole length (m).
VALUES_27 = ((0.5, 1.0, 2.0), (0.05, 0.1, 0.2), (0.5, 1.0, 2.0))
VALUES_125 = ((0.5, 0.75, 1.0, 1.5, 2.0), (0.05, 0.075, 0.1, 0.15, 0.2), (0.5, 0.75, 1.0, 1.5, 2.0))


def cartpole27(rules: CartpoleRules) -> Domain:
    """The 27 tasks of the paper's main experiments."""
    return cartpole("cartpole27", *VALUES_27, rules=rules)


def cartpole125(rules: CartpoleRules) -> Domain:
    """The same ranges with five values each."""
    return cartpole("cartpole125", *VALUES_125, rules=rules)


def cartpole54(rules: CartpoleRules) -> Domain:
    """The 27 tasks, and then each with the effect of its actions reversed.

    A policy that sees only the state cannot balance a pole and its mirror image: two are needed, and two are enough
    where one is enough for the 27.
    """
    tasks = [task_params(*combination, rules) for combination in itertools.product(*VALUES_27)]
    return _domain("cartpole54", [*tasks, *(task._replace(force=-task.force) for task in tasks)], rules)


def cartpole1000(rules: CartpoleRules) -> Domain:
    """Gymnasium's cart mass, pole mass and half-length, each times 0.2, 0.4, ..., 2: the grid of SD-MBTL (AAAI 2026).

    Task index as there: pole mass outermost, length innermost.
    """
    cart_masses, pole_masses, half_lengths = (
        [round(fifths * value / 5, 2) for fifths in range(1, 11)] for value in (1.0, 0.1, 0.5)
    )
    # Gymnasium's way from degrees: `math.radians` ends in another last bit.
    angle_limit = rules.angle_limit * 2 * math.pi / 360
    tasks = [
        task_params(cart_mass, pole_mass, 2 * half_length, rules)._replace(angle_limit=angle_limit)
        for pole_mass, cart_mass, half_length in itertools.product(pole_masses, cart_masses, half_lengths)
    ]
    # The shortest and lightest pole falls from within one limit to beyond twice the other in a single step.
    return _domain("cartpole1000", tasks, rules, overshoot=math.inf)


def cartpole(
    name: str,
    cart_masses: Sequence[float],
    pole_masses: Sequence[float],
    lengths: Sequence[float],
    rules: CartpoleRules,
) -> Domain:
    """The domain of all combinations: task index with cart mass outermost and length innermost."""
    combinations = itertools.product(cart_masses, pole_masses, lengths)
    return _domain(name, [task_params(*combination, rules) for combination in combinations], rules)


def _domain(name: str, tasks: Sequence[CartpoleParams], rules: CartpoleRules, overshoot: float = 2.0) -> Domain:
    compiled = CompiledTasks(
        kernels=TaskKernels(reset, step, observe), params=tasks, new_state=new_state, observation_size=4
    )
    return Domain(
        name=name,
        task_names=tuple(_task_name(task) for task in tasks),
        make_env=lambda task: CartpoleEnv(compiled, task, overshoot),
        compiled=compiled,
        settings=rules.as_dict(),
        sample_observations=lambda rng, count: sample_observations(rules, rng, count),
        end_feature=EndFeature("|angular velocity|", 3, *_angle_cause(rules)),
        contexts=_contexts(tasks),
    )


def _contexts(tasks: Sequence[CartpoleParams]) -> NDArray[np.float64]:
    """Cart mass, pole mass and length and, if that differs, which way action 1 pushes."""
    rows = [(task.cart_mass, task.pole_mass, 2 * task.half_length, np.sign(task.force)) for task in tasks]
    return np.array(rows)[:, : 4 if any(task.force < 0 for task in tasks) else 3]


def _task_name(task: CartpoleParams) -> str:
    name = f"cart {task.cart_mass:.3g} kg, pole {task.pole_mass:.3g} kg, {2 * task.half_length:.3g} m"
    return f"{name}, mirrored" if task.force < 0 else name


def sample_observations(rules: CartpoleRules, rng: np.random.Generator, count: int) -> NDArray[np.float32]:
    """Uniform in x +-2.4, x_dot +-2.5, theta +-15 degrees, theta_dot +-2.5, as the paper's policy spread has it."""
    ranges = {"x": 2.4, "x_dot": 2.5, "theta": math.radians(15.0), "theta_dot": 2.5}
    bounds = np.array([ranges[quantity] for quantity in rules.observation_order.split()])
    return rng.uniform(-bounds, bounds, (count, len(bounds))).astype(np.float32)


def _angle_cause(rules: CartpoleRules) -> tuple[int, float]:
    """Where the angle is in an observation, and the size past which the pole has fallen."""
    return rules.observation_order.split().index("theta"), math.radians(rules.angle_limit)


class CartpoleEnv(KernelEnv):
    """Balance a pole on a cart of given mass, with a pole of given mass and length.

    ## Action space
    `Discrete(2)`: 0 pushes the cart left, 1 right, with `force` newton; in a mirrored task, the other way round.

    ## Observation space
    `Box(4)`, float32: position x of the cart, angle theta of the pole from upright, and their rates of change, in
    the order of `observation_order`.

    ## Reward
    1 a step; `failure_reward` on the step that ends in failure.

    ## Start and end
    All four quantities start uniform within `start_range` of 0. An episode terminates when |x| or |theta| passes its
    limit and is truncated after `max_steps` steps.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012  (Gymnasium's own convention)
    picture = "repertory.domains.cartpole_picture"

    def __init__(self, tasks: CompiledTasks, task: int, overshoot: float, render_mode: str | None = None) -> None:
        super().__init__(tasks, task, render_mode)
        params: CartpoleParams = tasks.params[task]
        # Twice the limits, as in Gymnasium, or more: the observation on which an episode ends lies outside of them.
        high = {"x": overshoot * params.position_limit, "theta": overshoot * params.angle_limit}
        order = ("x", "theta", "x_dot", "theta_dot") if params.angle_second else ("x", "x_dot", "theta", "theta_dot")
        bounds = np.array([high.get(quantity, np.inf) for quantity in order], np.float32)
        self.observation_space = gymnasium.spaces.Box(-bounds, bounds, dtype=np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
