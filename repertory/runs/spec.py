"""The spec of a run: everything that decides it, checked before anything is run or written.

    spec = run_spec("cartpole27", "dqn", 9, "epsilon-greedy")
    RunSpec.from_json(spec.to_json())      # the same, if all its components are in the catalogue

Python, the command, sweeps and engines all make one of these, and a run folder holds its JSON form: each component by
name with all its settings, so that no default can change what a recorded run was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repertory import catalogue
from repertory.agents.library import PolicyLibrary
from repertory.agents.protocol import AgentSetup, MakeAgent
from repertory.core.evaluator import Evaluator
from repertory.core.held_out import HeldOut
from repertory.core.lifetime import Lifetime
from repertory.core.seeds import generator, policy_seed
from repertory.core.sequence import SEQUENCES, authors_sequence, rounds_sequence, task_sequence
from repertory.domains.domain import Domain
from repertory.errors import UsageError, shown, unknown
from repertory.learners.protocol import Learner, MakeLearner, new_learner
from repertory.learners.replay_room import check_room
from repertory.machine import let_torch_run_on_one_thread
from repertory.profiles import PARTS, check_profile
from repertory.runs.component_record import described, is_described
from repertory.runs.start import Start
from repertory.selectors.protocol import MakeSelector
from repertory.settings import LARGEST_INTEGER, Settings

COMPONENTS = PARTS
NUMBERS = ("policies", "blocks", "block_steps", "seed", "run")
RUN_KEYS = (*COMPONENTS, *NUMBERS, "profile", "task", "hidden_tasks", "sequence", "start_from")
"""The fields of a spec that a user sets."""
MOST = 10**9
"""Policies, or blocks: more would not fit into any memory."""
DEFAULTS: dict[str, Any] = {"selector": "epsilon-greedy", "agent": "library", "profile": "text"}


@dataclass(frozen=True)
class RunSpec:
    """Everything that decides a lifetime, checked; `RunSpec.lifetime()` builds it."""

    domain: Domain
    learner: MakeLearner
    selector: MakeSelector
    policies: int
    blocks: int
    block_steps: int
    seed: int
    run: int
    profile: str
    task: int | tuple[int, ...] | None = None
    """The only task of the lifetime, or the only ones, in random blocks; all of them if none."""
    agent: MakeAgent = field(default_factory=PolicyLibrary)
    """What chooses the policies; by default the library with a selector."""
    hidden_tasks: bool = False
    """Whether neither agent nor policies are told which task it is."""
    sequence: str = "seed"
    """Where the task sequence comes from: see `repertory.core.sequence`."""
    start_from: Start | None = None
    """What its first policies begin as; untrained if none."""
    grown: tuple[tuple[int, int], ...] = ()
    """(block, tasks): before this block only so many first tasks came; the others were added to the run then."""

    def __post_init__(self) -> None:
        for name in NUMBERS:
            value, smallest = getattr(self, name), 0 if name in ("run", "seed") else 1
            largest = MOST if name in ("policies", "blocks") else LARGEST_INTEGER
            if isinstance(value, bool) or not isinstance(value, int) or not smallest <= value <= largest:
                raise UsageError(f"{name} is {shown(value)}; valid: a whole number at least {smallest}")
        self._check_task()
        object.__setattr__(self, "profile", check_profile(self.profile))
        if not isinstance(self.hidden_tasks, bool):
            raise UsageError(f"hidden_tasks is {shown(self.hidden_tasks)}; valid: true or false")
        if self.sequence not in SEQUENCES:
            raise unknown("sequence", self.sequence, SEQUENCES)
        if self.start_from is not None and self.start_from.policies > self.policies:
            raise UsageError(
                f"policies is {self.policies}, and start_from has {self.start_from.policies}; valid: at least as many"
            )
        self._check_grown()
        # A selector that does not fit the library refuses here, before anything is written.
        self.selector(self._known_tasks or 1, self.policies, self._assign_rng())

    def _check_task(self) -> None:
        last = self.domain.n_tasks - 1
        tasks = self.task if isinstance(self.task, tuple) else () if self.task is None else (self.task,)
        if self.task == () or not all(type(task) is int and 0 <= task <= last for task in tasks):
            raise UsageError(f"task is {shown(self.task)}; valid: 0 to {last}, some of them, or none for all of them")
        if len(set(tasks)) < len(tasks):
            raise UsageError(f"task is {shown(self.task)}; valid: each task once")

    def _check_grown(self) -> None:
        stages = [(0, 0), *self.grown, (self.blocks, self.domain.n_tasks)]
        for (block, tasks), (next_block, next_tasks) in pairwise(stages):
            if not (block <= next_block and tasks < next_tasks):
                raise UsageError(
                    f"grown is {shown(self.grown)}; valid: blocks and tasks that grow, up to the run's own"
                )
        if self.grown and self.task is not None:
            raise UsageError(f"task is {shown(self.task)}, of a run that tasks were added to; valid: all of them")

    @property
    def _known_tasks(self) -> int | None:
        return None if self.hidden_tasks else self.domain.n_tasks

    def _assign_rng(self) -> np.random.Generator:
        return generator(self.seed, "assign", self.run)

    # ---------------------------------------------------------------------------------------- as a lifetime

    def new_policy(self, number: int) -> Learner:
        """The policy of a number: untrained, or as `start_from` has it."""
        spaces, seed = (
            (self.domain.observation_space, self.domain.action_space),
            policy_seed(self.seed, self.run, number),
        )
        policy = new_learner(self.learner, *spaces, seed, self._known_tasks)
        if self.start_from is not None:
            self.start_from.begin(policy, number)
        return policy

    @property
    def window(self) -> int:
        """How many observations its policies look back on, the last one included."""
        return int(getattr(self.learner, "window", 1))

    def lifetime(self) -> Lifetime:
        check_room(self.learner, self.domain.observation_space, self.domain.action_space, self.policies)
        let_torch_run_on_one_thread()
        evaluator = Evaluator(self.domain, self.seed, self.run, self.window)
        setup = AgentSetup(
            observation_space=self.domain.observation_space,
            action_space=self.domain.action_space,
            n_tasks=self._known_tasks,
            policies=self.policies,
            new_policy=self.new_policy,
            make_selector=self.selector,
            rng=self._assign_rng(),
            blocks=self.blocks,
            tasks=() if self.hidden_tasks else tuple(self._tasks.tolist()),
            contexts=None if self.hidden_tasks else self.domain.contexts,
            evaluate=None if self.hidden_tasks else evaluator,
            returns=None if self.hidden_tasks else evaluator.returns,
        )
        agent, held_out = self.agent(setup), self._held_out()
        if held_out is not None:
            held_out.refuse_policies_that_cannot(agent.policies)
        return Lifetime(
            domain=self.domain,
            agent=agent,
            sequence=self._sequence(),
            block_steps=self.block_steps,
            seed=self.seed,
            run=self.run,
            hidden_tasks=self.hidden_tasks,
            window=self.window,
            evaluator=evaluator,
            held_out=held_out,
        )

    def _held_out(self) -> HeldOut | None:
        """What plays the tasks that are held out, if there are such."""
        held = self.domain.held_out
        return None if held is None else HeldOut(held, self.seed, self.run, self.window, self.blocks)

    @property
    def _tasks(self) -> NDArray[np.int64]:
        """Those that can come."""
        if self.task is None:
            return np.arange(self.domain.n_tasks)
        return np.array(self.task if isinstance(self.task, tuple) else [self.task], np.int64)

    def _sequence(self) -> NDArray[np.int64]:
        """In the blocks from one growth to the next, the tasks of a life that has had as many from its beginning."""
        drawn = self._tasks[self._draws(len(self._tasks))]
        for block, tasks in reversed(self.grown):
            drawn[:block] = self._draws(tasks)[:block]
        return drawn

    def _draws(self, n_tasks: int) -> NDArray[np.int64]:
        if self.sequence == "authors":
            return authors_sequence(self.run, self.blocks, n_tasks)
        if self.sequence == "rounds":
            return rounds_sequence(self.seed, self.run, self.blocks, n_tasks)
        return task_sequence(self.seed, self.run, self.blocks, n_tasks)

    # --------------------------------------------------------------------------------------------- as a record

    @property
    def is_described(self) -> bool:
        """Whether `to_json` tells this run from all others: not if a component is code that cannot be read."""
        parts = (self.learner, self.selector, self.agent)
        return self.domain.is_described and all(is_described(part) for part in parts)

    def to_json(self) -> dict[str, Any]:
        """Plain values only; the form in which a run folder and an engine hold a run."""
        components = {part: described(getattr(self, part)) for part in ("learner", "selector", "agent")}
        return {
            "domain": {"name": self.domain.name, **self.domain.settings},
            **components,
            **{key: getattr(self, key) for key in RUN_KEYS if key not in COMPONENTS},
            "task": list(self.task) if isinstance(self.task, tuple) else self.task,
            "start_from": None if self.start_from is None else self.start_from.as_dict(),
            "grown": [list(stage) for stage in self.grown],
            "score": self.domain.score,
            "task_names": list(self.domain.task_names),
        }

    @classmethod
    def from_json(cls, recorded: Mapping[str, Any], **own: Any) -> RunSpec:
        """What `to_json` gave. Components that the record alone does not give must be given: `learner=...`."""
        values = {key: recorded[key] for key in RUN_KEYS if key not in COMPONENTS}
        values |= {part: recorded[part]["name"] for part in COMPONENTS}
        if recorded["start_from"] is not None:
            values["start_from"] = Start(**recorded["start_from"])
        values["grown"] = tuple((block, tasks) for block, tasks in recorded["grown"])
        for part in COMPONENTS:
            if own.get(part) is None:
                refuse_unknown(recorded, part)
        return cls.from_names(values, {part: component_settings(recorded, part) for part in COMPONENTS}, **own)

    @classmethod
    def from_names(cls, values: Mapping[str, Any], changes: Mapping[str, Mapping[str, Any]], **own: Any) -> RunSpec:
        """From the keys of `RUN_KEYS`, components by name, and changes to the settings of each.

        Components that are given as objects are taken as they are.
        """
        named = {**DEFAULTS, **values}
        profile, domain_name = named["profile"], named["domain"]
        built = {part: component for part, component in own.items() if component is not None}
        for part in COMPONENTS:
            if part not in built:
                built[part] = catalogue.build(part, named[part], profile, changes.get(part, {}), domain_name)
        return run_spec(**{**named, **built})


def component_settings(recorded: Mapping[str, Any], part: str) -> dict[str, Any]:
    """The settings of a recorded component, without its name."""
    return {name: value for name, value in recorded[part].items() if name != "name"}


def refuse_unknown(recorded: Mapping[str, Any], part: str) -> None:
    """Fail if the record alone does not give the component."""
    if not catalogue.can_build(part, recorded[part]):
        raise UsageError(catalogue.not_built(part, recorded[part]))


def recorded_component(recorded: Mapping[str, Any], part: str) -> Any:
    """The `domain`, `learner`, ... of a recorded run, if the record alone gives it."""
    refuse_unknown(recorded, part)
    name, domain_name = recorded[part]["name"], recorded["domain"]["name"]
    return catalogue.build(part, name, recorded["profile"], component_settings(recorded, part), domain_name)


def run_spec(
    domain: Domain | str,
    learner: MakeLearner | str,
    policies: int,
    selector: MakeSelector | str,
    *,
    blocks: int | None = None,
    block_steps: int | None = None,
    run: int = 0,
    seed: int = 0,
    profile: str = "text",
    task: int | Sequence[int] | None = None,
    agent: MakeAgent | str = "library",
    hidden_tasks: bool = False,
    sequence: str = "seed",
    start_from: Start | None = None,
    grown: tuple[tuple[int, int], ...] = (),
) -> RunSpec:
    """Names to objects, defaults to values."""
    domain = built_component("domain", domain, profile)
    if not isinstance(domain, Domain):
        raise UsageError(
            f"domain is {domain!r}; valid: a repertory.Domain, or a name: {', '.join(catalogue.names('domains'))}"
        )
    usual_blocks, usual_block_steps = catalogue.lengths(domain.name, domain.n_tasks)
    return RunSpec(
        domain=domain,
        learner=built_component("learner", learner, profile, domain.name),
        selector=built_component("selector", selector, profile, domain.name),
        agent=built_component("agent", agent, profile, domain.name),
        policies=_plain_integer(policies),
        blocks=_plain_integer(usual_blocks if blocks is None else blocks),
        block_steps=_plain_integer(usual_block_steps if block_steps is None else block_steps),
        seed=_plain_integer(seed),
        run=_plain_integer(run),
        profile=profile,
        task=tuple(map(_plain_integer, task)) if isinstance(task, (list, tuple, range)) else _plain_integer(task),
        hidden_tasks=hidden_tasks,
        sequence=sequence,
        start_from=start_from,
        grown=grown,
    )


def built_component(part: str, component: Any, profile: str, domain_name: str = "") -> Any:
    """A component by name; one that is given is taken as it is."""
    if isinstance(component, type) and issubclass(component, Settings):
        raise UsageError(f"{component.__name__} is a class; give {component.__name__}()")
    return catalogue.build(part, component, profile, {}, domain_name) if isinstance(component, str) else component


def _plain_integer(value: Any) -> Any:
    """A NumPy integer as Python's; anything else as it is."""
    return value.item() if hasattr(value, "item") else value
