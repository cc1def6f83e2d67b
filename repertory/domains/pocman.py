"""POcman: food, poison and ghosts in three mazes of which only the nearest cells are seen; the paper's 18 tasks."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.domains.domain import CompiledTasks, Domain, KernelEnv, TaskKernels
from repertory.domains.two_valued import TwoValued
from repertory.kernels.compile import kernel
from repertory.kernels.streams import Stream, below, uniform
from repertory.settings import Settings, setting

# Directions, which are also the actions. x grows east and y south; the opposite of a direction is two further on.
NORTH, EAST, SOUTH, WEST, STAY = range(5)
X_STEP = np.array([0, 1, 0, -1, 0])
Y_STEP = np.array([-1, 0, 1, 0, 0])

# Headings of an object: the direction it went last; STAY, from which it may go anywhere; or, before its first move
# of an episode, one that counts as west.
FIRST_HEADING = 5

# Movements of an object: the paper's M.
STATIC, WANDERING, REACTING = range(3)
WANDER_INTERVAL = 20
REACTION_RATE = 0.5

# Places in a state; the clock counts the steps of this episode.
AGENT_X, AGENT_Y, OBJECT_X, OBJECT_Y, HEADING, CLOCK = range(6)

OBSERVATION_SIZE = 11
RANGES = (2, 3, 4)  # Manhattan distances within which the object is felt


# -------------------------------------------------------------------------------------------------- settings


@dataclass(frozen=True, kw_only=True)
class PocmanRules(Settings):
    """The rules that all tasks of the POcman domain share. The defaults are the paper's text."""

    max_steps: int = setting(1000, "An episode is cut off after this many steps.", at_least=1)
    reaction_range: int | None = setting(
        None,
        "A reacting object reacts at Manhattan distances to the agent below this and takes a random step at others; "
        "none: it always reacts.",
        at_least=1,
    )
    headings: str = setting(
        "free",
        "Whether a moving object may go back to where it came from; with no reversal it also begins an episode as if "
        "it had come from the east, and does not stand still as its first reaction.",
        choices=("free", "no reversal"),
    )
    chase: str = setting(
        "distance",
        "How a reacting object goes towards or away from the agent: to a cell at a smaller or larger Manhattan "
        "distance, or by comparing its signed distances along the axes.",
        choices=("distance", "axis"),
    )
    static_adjacency: str = setting(
        "adjacent",
        "When the four features for an adjacent object are on in tasks with a static object.",
        choices=("adjacent", "always on"),
    )
    observation_values: str = setting("0 1", "A feature that is off, and one that is on.", choices=("0 1", "-1 1"))
    direction_order: str = setting(
        "north east south west",
        "Order of the four features for walls and of the four for an adjacent object.",
        choices=("north east south west", "north south west east"),
    )


# ------------------------------------------------------------------------------------------------ parameters


class Maze(NamedTuple):
    """A maze as text: # wall, A where the agent starts, G the home of moving objects, the rest free."""

    name: str
    rows: tuple[str, ...]
    static_homes: tuple[tuple[int, int], ...]
    """Cells (x, y) at which a static object may stand."""

    def find(self, letter: str) -> tuple[int, int]:
        """The cell (x, y) of a letter that occurs once."""
        return next((row.index(letter), y) for y, row in enumerate(self.rows) if letter in row)


MAZES = (
    Maze(
        "cheese maze",
        (
            "#######",
            "#.....#",
            "#A#.#.#",
            "#.#G#.#",
            "#######",
        ),
        static_homes=((3, 3), (5, 3)),
    ),
    Maze(
        "Sutton maze",
        (
            "###########",
            "#.......#G#",
            "#..#....#.#",
            "#A.#....#.#",
            "#..#......#",
            "#.....#...#",
            "#.........#",
            "###########",
        ),
        static_homes=((6, 1), (9, 1), (9, 6)),
    ),
    Maze(
        "POcman maze",
        (
            "#########",
            "#.......#",
            "#..#.#..#",
            "#.#.G.#.#",
            "....#....",
            "#.#...#.#",
            "#..#.#..#",
            "#...A...#",
            "#########",
        ),
        static_homes=((1, 1), (1, 7), (7, 1), (7, 7)),
    ),
)


class PocmanParams(NamedTuple):
    """One task, with the rules it is played by."""

    passable: NDArray[np.uint8]
    """1 for a free cell, 0 for a wall, at [y, x]."""
    homes: NDArray[np.int64]
    """Cells (x, y) of which one, drawn anew for each episode, is where the object begins."""
    start_x: int
    start_y: int
    reward: float
    movement: int
    max_steps: int
    reaction_range: int
    keeps_heading: bool
    chases_by_axis: bool
    adjacency_always_on: bool
    off: float
    """The value of a feature that is off; one that is on is 1."""
    feature_directions: NDArray[np.int64]


def task_params(reward: int, movement: int, maze: Maze, rules: PocmanRules) -> PocmanParams:
    """A task from the three dimensions R, M and T of the paper."""
    passable = np.array([[cell != "#" for cell in row] for row in maze.rows], np.uint8)
    start_x, start_y = maze.find("A")
    directions = {"north": NORTH, "east": EAST, "south": SOUTH, "west": WEST}
    return PocmanParams(
        passable=passable,
        homes=np.array(maze.static_homes if movement == STATIC else [maze.find("G")], np.int64),
        start_x=start_x,
        start_y=start_y,
        reward=float(reward),
        movement=movement,
        max_steps=rules.max_steps,
        reaction_range=sum(passable.shape) if rules.reaction_range is None else rules.reaction_range,
        keeps_heading=rules.headings == "no reversal",
        chases_by_axis=rules.chase == "axis",
        adjacency_always_on=rules.static_adjacency == "always on" and movement == STATIC,
        off=float(rules.observation_values.split()[0]),
        feature_directions=np.array([directions[name] for name in rules.direction_order.split()], np.int64),
    )


# -------------------------------------------------------------------------------------------------- dynamics


def new_state() -> NDArray[np.int64]:
    return np.zeros(6, np.int64)


@kernel
def reset(params: PocmanParams, state: NDArray[np.int64], stream: Stream) -> None:
    home = below(stream, len(params.homes))
    state[AGENT_X], state[AGENT_Y] = params.start_x, params.start_y
    state[OBJECT_X], state[OBJECT_Y] = params.homes[home, 0], params.homes[home, 1]
    state[HEADING] = FIRST_HEADING if params.keeps_heading else STAY
    state[CLOCK] = 0


@kernel
def step(params: PocmanParams, state: NDArray[np.int64], action: int, stream: Stream) -> tuple[float, bool, bool]:
    """The agent moves, then the object unless the agent has just reached it; in touch now, the reward is R."""
    state[CLOCK] += 1
    x, y = cell_ahead(params, state[AGENT_X], state[AGENT_Y], action)
    if params.passable[y, x]:
        state[AGENT_X], state[AGENT_Y] = x, y
    if distance_to_agent(state, state[OBJECT_X], state[OBJECT_Y]) > 0:
        move_object(params, state, stream)
    touches = distance_to_agent(state, state[OBJECT_X], state[OBJECT_Y]) == 0
    return params.reward if touches else 0.0, False, state[CLOCK] >= params.max_steps


@kernel
def observe(params: PocmanParams, state: NDArray[np.int64], observation: NDArray[np.float32]) -> None:
    on, off = np.float32(1.0), np.float32(params.off)
    for i in range(4):
        x, y = cell_ahead(params, state[AGENT_X], state[AGENT_Y], params.feature_directions[i])
        holds_object = x == state[OBJECT_X] and y == state[OBJECT_Y]
        observation[i] = off if params.passable[y, x] else on
        observation[4 + i] = on if holds_object or params.adjacency_always_on else off
    distance = distance_to_agent(state, state[OBJECT_X], state[OBJECT_Y])
    for i in range(3):
        observation[8 + i] = on if distance <= RANGES[i] else off


@kernel
def cell_ahead(params: PocmanParams, x: int, y: int, direction: int) -> tuple[int, int]:
    """The neighbour (x, y) of a cell; beyond the edge of the grid comes its other side."""
    height, width = params.passable.shape
    x, y = x + X_STEP[direction], y + Y_STEP[direction]
    if x < 0 or x >= width:
        x = width - 1 if x < 0 else 0
    if y < 0 or y >= height:
        y = height - 1 if y < 0 else 0
    return x, y


@kernel
def distance_to_agent(state: NDArray[np.int64], x: int, y: int) -> int:
    """The Manhattan distance, which takes no notice of walls or of the passage around the edge."""
    return abs(x - state[AGENT_X]) + abs(y - state[AGENT_Y])


# ------------------------------------------------------------------------------------ dynamics of the object


@kernel
def move_object(params: PocmanParams, state: NDArray[np.int64], stream: Stream) -> None:
    if params.movement == STATIC or (params.movement == WANDERING and state[CLOCK] % WANDER_INTERVAL != 0):
        return
    direction = choose_direction(params, state, stream)
    state[OBJECT_X], state[OBJECT_Y] = cell_ahead(params, state[OBJECT_X], state[OBJECT_Y], direction)
    if params.keeps_heading:
        state[HEADING] = direction


@kernel
def choose_direction(params: PocmanParams, state: NDArray[np.int64], stream: Stream) -> int:
    """Where the object goes: at random, away from the agent (defensive) or towards it (aggressive)."""
    in_range = distance_to_agent(state, state[OBJECT_X], state[OBJECT_Y]) < params.reaction_range
    if params.movement == WANDERING or not in_range:
        return draw_direction(params, state, 0, stream)
    trend = 1 if params.reward > 0 else -1
    if uniform(stream) >= REACTION_RATE:
        if trend < 0:
            return draw_direction(params, state, 0, stream)
        if state[HEADING] != FIRST_HEADING:
            return STAY
    if params.chases_by_axis:
        return direction_by_axis(params, state, trend)
    return draw_direction(params, state, trend, stream)


@kernel
def may_go(params: PocmanParams, state: NDArray[np.int64], direction: int) -> bool:
    """Whether the object would neither run into a wall nor turn back."""
    heading = WEST if state[HEADING] == FIRST_HEADING else state[HEADING]
    if heading != STAY and direction == (heading + 2) % 4:
        return False
    x, y = cell_ahead(params, state[OBJECT_X], state[OBJECT_Y], direction)
    return params.passable[y, x] != 0


@kernel
def draw_direction(params: PocmanParams, state: NDArray[np.int64], trend: int, stream: Stream) -> int:
    """Uniform over the directions the object may go, STAY if there is none.

    With a `trend` of -1 only those that bring it nearer to the agent count, with +1 those that bring it farther.
    """
    distance = distance_to_agent(state, state[OBJECT_X], state[OBJECT_Y])
    found, count = 0, 0  # the directions found, two bits each
    for direction in range(4):
        x, y = cell_ahead(params, state[OBJECT_X], state[OBJECT_Y], direction)
        follows = trend == 0 or trend * (distance_to_agent(state, x, y) - distance) > 0
        if follows and may_go(params, state, direction):
            found |= direction << (2 * count)
            count += 1
    if count == 0:
        return STAY
    return (found >> (2 * below(stream, count))) & 3


@kernel
def direction_by_axis(params: PocmanParams, state: NDArray[np.int64], trend: int) -> int:
    """The released code's choice: of the directions the object may go, the one with the least (towards) or the
    largest (away, if not negative) signed distance from the agent; of equals the last in the order south, east,
    north, west; STAY if there is none.
    """
    height, width = params.passable.shape
    best = 0 if trend > 0 else width + height
    chosen = STAY
    for direction in (SOUTH, EAST, NORTH, WEST):
        if direction == EAST:
            distance = state[OBJECT_X] - state[AGENT_X]
        elif direction == SOUTH:
            distance = state[OBJECT_Y] - state[AGENT_Y]
        else:  # west too: the authors' code takes y where x is meant
            distance = state[AGENT_Y] - state[OBJECT_Y]
        if trend * (distance - best) >= 0 and may_go(params, state, direction):
            best, chosen = distance, direction
    return chosen


# ---------------------------------------------------------------------------------------------------- domain

REWARDS = (-1, 1)
MOVEMENT_NAMES = {STATIC: "static", WANDERING: "wandering", REACTING: "reacting"}


def pocman18(rules: PocmanRules) -> Domain:
    """All combinations of reward R, movement M and maze T: task index 9 i_R + 3 M + T."""
    combinations = list(itertools.product(REWARDS, MOVEMENT_NAMES, MAZES))
    compiled = CompiledTasks(
        kernels=TaskKernels(reset, step, observe),
        params=[task_params(*combination, rules) for combination in combinations],
        new_state=new_state,
        observation_size=OBSERVATION_SIZE,
    )
    return Domain(
        name="pocman18",
        task_names=tuple(f"reward {r:+d}, {MOVEMENT_NAMES[m]}, {maze.name}" for r, m, maze in combinations),
        make_env=lambda task: PocmanEnv(compiled, task),
        compiled=compiled,
        settings=rules.as_dict(),
        score="reward per step",
    )


class PocmanEnv(KernelEnv):
    """Touch an object, or keep away from it, in a maze of which only the neighbouring cells are seen.

    ## Action space
    `Discrete(5)`: 0 north, 1 east, 2 south, 3 west, 4 stay. A move into a wall leaves the agent where it is. The
    open row of the third maze leads from either edge to the other.

    ## Observation space
    `TwoValued(11)`, float32, off and on as in `observation_values`:

    - 0 to 3: the neighbouring cell is a wall, in the order of `direction_order`;
    - 4 to 7: the neighbouring cell holds the object, in the same order;
    - 8 to 10: the object is within a Manhattan distance of 2, of 3, of 4.

    ## Reward
    R = -1 or +1 on every step that ends with agent and object on one cell, else 0. The agent moves first, and an
    object that it has just reached does not move in that step. Objects never disappear.

    ## Objects
    A static object stands on a cell drawn for the episode. The others leave their maze's home: a wandering one by a
    random step every 20 steps; a reacting one at every step, defensive if R = +1 (with probability 0.5 it moves away
    from the agent, else it stands still) and aggressive if R = -1 (with probability 0.5 it moves towards the agent,
    else a random step). How it moves is refined by `reaction_range`, `headings` and `chase`.

    ## Start and end
    The agent begins at its maze's start. An episode never terminates and is truncated after `max_steps` steps.
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 10}  # noqa: RUF012  (Gymnasium's own convention)
    picture = "repertory.domains.pocman_picture"

    def __init__(self, tasks: CompiledTasks, task: int, render_mode: str | None = None) -> None:
        super().__init__(tasks, task, render_mode)
        params: PocmanParams = tasks.params[task]
        self.observation_space = TwoValued(params.off, 1.0, OBSERVATION_SIZE, whole_rewards=True)
        self.action_space = gymnasium.spaces.Discrete(5)
