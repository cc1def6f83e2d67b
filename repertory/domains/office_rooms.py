"""Office rooms: a robot finds its way to a goal in 15 rooms and their corridors; each task is another goal.

F. Fernandez and M. Veloso, *Probabilistic policy reuse in a reinforcement learning agent*, AAMAS 2006, and *Learning
domain structure through probabilistic policy reuse in reinforcement learning*, Progress in AI 2, 2013. The map, the
movement and its noise, the reward and the length of an episode are theirs. Which 50 goals they had is not known: here
they are drawn, by `goal_seed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.domains.domain import CompiledTasks, Domain, KernelEnv, TaskKernels
from repertory.domains.two_valued import TwoValued
from repertory.errors import UsageError
from repertory.kernels.compile import kernel
from repertory.kernels.streams import Stream, below, uniform
from repertory.settings import Settings, setting

# Rooms have letters, corridors and doors have none.
MAP = (
    "########################",
    "#aaaaa#bbbbb#cccc#ddddd#",
    "#aaaaa#bbbbb#cccc.ddddd#",
    "#aaaaa#bbbbb#cccc#ddddd#",
    "#####.###.###.##########",
    "#eee#..............#fff#",
    "#eee#...............fff#",
    "#eee#..###.######..#fff#",
    "#eee...#gggggggg#..#####",
    "#####..#gggggggg#..#hhh#",
    "#iii#..##########..#hhh#",
    "#iii...#jjj#kkkk#..#hhh#",
    "#iii#..#jjj#kkkk...#hhh#",
    "#####..##.#######..##.##",
    "#......................#",
    "#......................#",
    "##.####.#######.########",
    "#llll#mmmmmm#nnnn#ooooo#",
    "#llll#mmmmmm#nnnn.ooooo#",
    "#llll#mmmmmm#nnnn#ooooo#",
    "########################",
)
COLUMNS, ROWS = len(MAP[0]), len(MAP)
IS_FREE = np.array([[letter != "#" for letter in row] for row in MAP])
FREE_CELLS = np.flatnonzero(IS_FREE)
"""Cells by number, row by row, that are no walls."""
ROOMS = "".join(sorted({letter for row in MAP for letter in row if letter.isalpha()}))

# Actions, in the order north, east, south, west; x grows east and y south.
X_STEP = np.array([0, 1, 0, -1])
Y_STEP = np.array([-1, 0, 1, 0])

# Places in a state: where the robot is, and the steps of this episode.
X, Y, CLOCK = range(3)


# ---------------------------------------------------------------------------------------------- parameters


@dataclass(frozen=True, kw_only=True)
class OfficeRules(Settings):
    """The rules that all tasks share, and how many tasks there are. The defaults are the published ones."""

    tasks: int = setting(50, "Goals, a task for each; no two are on one cell.", at_least=1)
    goals: str = setting(
        "rooms",
        "Where they lie: in as many rooms as there are, equally often; or on any free cell.",
        choices=("rooms", "anywhere"),
    )
    goal_seed: int = setting(0, "Another seed, other goals.", at_least=0)
    noise: float = setting(0.2, "A move ends up to so far from where it should, in either direction.", at_least=0)
    max_steps: int = setting(100, "An episode is cut off after this many steps.", at_least=1)
    observation: str = setting(
        "cell",
        "What is seen of the robot's cell: its column and row, or one of 504 features that is on, for networks.",
        choices=("cell", "one-hot"),
    )

    def validate(self) -> None:
        rooms = sum(letter in ROOMS for row in MAP for letter in row)
        most = rooms if self.goals == "rooms" else FREE_CELLS.size
        if self.tasks > most:
            raise UsageError(f"OfficeRules.tasks is {self.tasks}; valid with goals='{self.goals}': at most {most}")


class OfficeParams(NamedTuple):
    """One task, with the rules it is played by."""

    goal: int
    """Its place among the free cells."""
    noise: float
    max_steps: int
    is_one_hot: bool


# ------------------------------------------------------------------------------------------------ dynamics


def new_state() -> NDArray[np.float64]:
    return np.zeros(3, np.float64)


@kernel
def cell_at(x: float, y: float) -> int:
    return int(y) * COLUMNS + int(x)


@kernel
def reset(params: OfficeParams, state: NDArray[np.float64], stream: Stream) -> None:
    """Anywhere but at the goal: so many free cells behind it."""
    cell = FREE_CELLS[(params.goal + 1 + below(stream, FREE_CELLS.size - 1)) % FREE_CELLS.size]
    state[X] = cell % COLUMNS + uniform(stream)
    state[Y] = cell // COLUMNS + uniform(stream)
    state[CLOCK] = 0.0


@kernel
def step(params: OfficeParams, state: NDArray[np.float64], action: int, stream: Stream) -> tuple[float, bool, bool]:
    """A move of length 1, with noise. One that would lead into a wall, or across it, is not made."""
    x = state[X] + X_STEP[action] + params.noise * (2.0 * uniform(stream) - 1.0)
    y = state[Y] + Y_STEP[action] + params.noise * (2.0 * uniform(stream) - 1.0)
    column, row = int(state[X]) + X_STEP[action], int(state[Y]) + Y_STEP[action]
    if IS_FREE[row, column] and 0.0 <= x < COLUMNS and 0.0 <= y < ROWS and IS_FREE[int(y), int(x)]:
        state[X], state[Y] = x, y
    state[CLOCK] += 1.0
    terminated = cell_at(state[X], state[Y]) == FREE_CELLS[params.goal]
    truncated = not terminated and state[CLOCK] >= params.max_steps
    return 1.0 if terminated else 0.0, terminated, truncated


@kernel
def observe(params: OfficeParams, state: NDArray[np.float64], observation: NDArray[np.float32]) -> None:
    if params.is_one_hot:
        observation[:] = 0.0
        observation[cell_at(state[X], state[Y])] = 1.0
    else:
        observation[0] = int(state[X])
        observation[1] = int(state[Y])


# -------------------------------------------------------------------------------------------------- domain


def room_of(cell: int) -> str:
    """Its letter, or nothing for a cell of a corridor."""
    return MAP[cell // COLUMNS][cell % COLUMNS].strip("#.")


def draw_goals(rules: OfficeRules) -> list[int]:
    """Cells, no two the same."""
    rng = np.random.default_rng(rules.goal_seed)
    cells = [int(cell) for cell in rng.permutation(FREE_CELLS)]
    if rules.goals == "anywhere":
        return cells[: rules.tasks]
    # Room by room in turn, in a random order of the rooms, until all tasks have a goal.
    waiting = {room: [cell for cell in cells if room_of(cell) == room] for room in rng.permutation(list(ROOMS))}
    goals: list[int] = []
    while len(goals) < rules.tasks:
        for cells_of_room in waiting.values():
            if cells_of_room and len(goals) < rules.tasks:
                goals.append(cells_of_room.pop())
    return goals


def office_rooms(rules: OfficeRules) -> Domain:
    goals = draw_goals(rules)
    is_one_hot = rules.observation == "one-hot"
    places = np.searchsorted(FREE_CELLS, goals)
    compiled = CompiledTasks(
        kernels=TaskKernels(reset, step, observe),
        params=[OfficeParams(int(place), rules.noise, rules.max_steps, is_one_hot) for place in places],
        new_state=new_state,
        observation_size=COLUMNS * ROWS if is_one_hot else 2,
    )
    return Domain(
        name="office-rooms",
        task_names=tuple(_task_name(goal) for goal in goals),
        make_env=lambda task: OfficeEnv(compiled, task),
        compiled=compiled,
        settings=rules.as_dict(),
        score="reward per step",
        sample_observations=lambda rng, count: sample_observations(is_one_hot, rng, count),
        contexts=np.array([(goal % COLUMNS, goal // COLUMNS) for goal in goals]),
    )


def _task_name(goal: int) -> str:
    where = f"room {room_of(goal)}" if room_of(goal) else "corridor"
    return f"goal in {where}, column {goal % COLUMNS}, row {goal // COLUMNS}"


def sample_observations(is_one_hot: bool, rng: np.random.Generator, count: int) -> NDArray[np.float32]:
    """Of free cells, uniformly."""
    cells = rng.choice(FREE_CELLS, count)
    if is_one_hot:
        return np.eye(COLUMNS * ROWS, dtype=np.float32)[cells]
    return np.stack([cells % COLUMNS, cells // COLUMNS], axis=1).astype(np.float32)


class OfficeEnv(KernelEnv):
    """Reach a goal in an office of 15 rooms, 24 by 21 cells.

    ## Action space
    `Discrete(4)`: 0 north, 1 east, 2 south, 3 west, a move by the length of a cell, off by up to `noise` in both
    directions. A move into a wall is not made.

    ## Observation space
    With `observation="cell"`, the column and row of the robot's cell: `Box`, float32, whole numbers. With "one-hot",
    `TwoValued(504)`: the feature of its cell is 1, all others 0. Where in its cell it is, the robot does not see.

    ## Reward
    1 on reaching the goal's cell, else 0.

    ## Start and end
    It starts anywhere on a free cell but the goal's. An episode terminates at the goal and is truncated after
    `max_steps` steps.
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 10}  # noqa: RUF012  (Gymnasium's own convention)
    picture = "repertory.domains.office_picture"

    def __init__(self, tasks: CompiledTasks, task: int, render_mode: str | None = None) -> None:
        super().__init__(tasks, task, render_mode)
        params: OfficeParams = tasks.params[task]
        if params.is_one_hot:
            self.observation_space: gymnasium.Space = TwoValued(0.0, 1.0, COLUMNS * ROWS, whole_rewards=True)
        else:
            last = np.array([COLUMNS - 1, ROWS - 1], np.float32)
            self.observation_space = gymnasium.spaces.Box(np.zeros(2, np.float32), last, dtype=np.float32)
        self.action_space = gymnasium.spaces.Discrete(4)
