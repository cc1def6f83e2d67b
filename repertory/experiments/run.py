"""`repertory.live`: one lifetime, from names or objects to a record and, if asked, a run folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from repertory import catalogue
from repertory.domains.domain import Domain
from repertory.errors import UsageError
from repertory.experiments.folder import RunFolder, plain
from repertory.experiments.keeper import Keeper
from repertory.learners.protocol import MakeLearner
from repertory.lifetime import Lifetime, Monitor
from repertory.profiles import check_profile
from repertory.record import Record
from repertory.seeds import generator, policy_seeds
from repertory.selectors import MakeSelector
from repertory.sequence import task_sequence
from repertory.settings import LARGEST_INTEGER, Settings


@dataclasses.dataclass(frozen=True)
class Plan:
    """Everything that decides a lifetime, checked; `Plan.lifetime()` can then be lived."""

    domain: Domain
    learner: MakeLearner
    selector: MakeSelector
    policies: int
    blocks: int
    block_steps: int
    seed: int
    run: int
    profile: str

    def __post_init__(self) -> None:
        for name, smallest in {"policies": 1, "blocks": 1, "block_steps": 1, "seed": 0, "run": 0}.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not smallest <= value <= LARGEST_INTEGER:
                raise UsageError(f"{name} is {str(value)[:30]}; valid: a whole number at least {smallest}")
        check_profile(self.profile)
        self._selector()  # a selector that does not fit the library refuses here, before anything is written

    def _selector(self) -> Any:
        return self.selector(self.domain.n_tasks, self.policies, generator(self.seed, "assign", self.run))

    def lifetime(self) -> Lifetime:
        spaces = (self.domain.observation_space, self.domain.action_space)
        seeds = policy_seeds(self.seed, self.run, self.policies)
        return Lifetime(
            domain=self.domain,
            policies=[self.learner(*spaces, policy_seed) for policy_seed in seeds],
            selector=self._selector(),
            sequence=task_sequence(self.seed, self.run, self.blocks, self.domain.n_tasks),
            block_steps=self.block_steps,
            seed=self.seed,
            run=self.run,
        )

    @property
    def is_described(self) -> bool:
        """Whether `settings` tells this plan from all others: not if a component is the user's own code."""
        return isinstance(self.learner, Settings) and isinstance(self.selector, Settings)

    def settings(self) -> dict[str, Any]:
        """For the record of the run: plain values only."""
        return {
            "domain": {"name": self.domain.name, **self.domain.settings},
            "learner": _described(self.learner),
            "selector": _described(self.selector),
            "policies": self.policies,
            "blocks": self.blocks,
            "block_steps": self.block_steps,
            "seed": self.seed,
            "run": self.run,
            "profile": self.profile,
            "task_names": list(self.domain.task_names),
        }


def _described(component: object) -> dict[str, Any]:
    fields = component.as_dict() if isinstance(component, Settings) else {}
    return {"name": catalogue.name_of(component), **fields}


def live(
    domain: Domain | str,
    learner: MakeLearner | str,
    policies: int,
    selector: MakeSelector | str = "epsilon-greedy",
    *,
    blocks: int | None = None,
    block_steps: int | None = None,
    run: int = 0,
    seed: int = 0,
    profile: str = "text",
    out: str | Path | None = None,
    monitors: Sequence[Monitor] = (),
) -> Record:
    """Live one lifetime of Lifetime Policy Reuse and return its record.

    `domain`, `learner` and `selector` are objects or names in the catalogue; names are read under `profile`, objects
    are taken as they are. `learner` may be settings such as `repertory.DQN()` or any callable
    `(observation_space, action_space, seed)` that returns a learner; `selector` any callable
    `(n_tasks, n_policies, rng)` that returns a selector. `blocks` and `block_steps` are as long as the paper's if not
    given (675 blocks of 60,000 steps for domains that are not in the paper). With `out`, the run is kept in that
    folder, and one that was interrupted there goes on.
    """
    plan = make_plan(
        domain,
        learner,
        policies,
        selector,
        blocks=blocks,
        block_steps=block_steps,
        run=run,
        seed=seed,
        profile=profile,
    )
    return live_plan(plan, out, monitors)


def make_plan(
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
) -> Plan:
    """Names to objects, defaults to values."""
    if isinstance(domain, str):
        domain = catalogue.domain(domain, profile)
    if isinstance(learner, str):
        learner = catalogue.learner(learner, profile)
    if isinstance(selector, str):
        selector = catalogue.build_selector(selector, profile, {}, getattr(domain, "name", ""))
    for component in (learner, selector):
        if isinstance(component, type) and issubclass(component, Settings):
            raise UsageError(f"{component.__name__} is a class; give {component.__name__}()")
    if not isinstance(domain, Domain):
        raise UsageError(f"domain is {domain!r}; valid: a repertory.Domain, or a name: {', '.join(catalogue.DOMAINS)}")
    paper = catalogue.DOMAINS.get(domain.name, catalogue.DOMAINS["cartpole27"])
    return Plan(
        domain=domain,
        learner=learner,
        selector=selector,
        policies=_plain_integer(policies),
        blocks=_plain_integer(paper.blocks if blocks is None else blocks),
        block_steps=_plain_integer(paper.block_steps if block_steps is None else block_steps),
        seed=_plain_integer(seed),
        run=_plain_integer(run),
        profile=profile,
    )


def _plain_integer(value: Any) -> Any:
    """A NumPy integer as Python's; anything else as it is."""
    return value.item() if hasattr(value, "item") else value


def live_plan(
    plan: Plan,
    out: str | Path | None = None,
    monitors: Sequence[Monitor] = (),
    finishing: Callable[[Record, RunFolder], None] | None = None,
    notice: Callable[[str], None] | None = None,
) -> Record:
    """Live a plan; with `out`, keep it there and go on from where it was left.

    `finishing` adds to the folder before it counts as done; `notice` hears what a user should know.
    """
    lifetime = plan.lifetime()  # before the folder is claimed: what cannot be built leaves nothing behind
    try:
        if out is None:
            lifetime.live(monitors)
        else:
            _live_in_folder(plan, lifetime, RunFolder(Path(out)), monitors, finishing, notice or (lambda message: None))
    finally:
        lifetime.close()
    return _record(plan, lifetime)


def _record(plan: Plan, lifetime: Lifetime) -> Record:
    return Record(lifetime.blocks, plan.settings(), lifetime.policies, lifetime.selector)


def _live_in_folder(
    plan: Plan,
    lifetime: Lifetime,
    folder: RunFolder,
    monitors: Sequence[Monitor],
    finishing: Callable[[Record, RunFolder], None] | None,
    notice: Callable[[str], None],
) -> None:
    settings = plain(plan.settings())
    folder.claim(settings, plan.is_described)
    with folder.locked():
        if folder.is_done:
            raise UsageError(
                f"{folder.path} holds this run, finished; read its blocks.parquet, or choose another folder"
            )
        _resume(folder, lifetime, settings, notice)
        keeper = Keeper(folder, lifetime, settings)
        with keeper.on_interrupt():
            lifetime.live([*monitors, keeper])
        keeper.save()
        if finishing is not None:
            finishing(_record(plan, lifetime), folder)
        folder.finish()


def _resume(folder: RunFolder, lifetime: Lifetime, settings: dict[str, Any], notice: Callable[[str], None]) -> None:
    checkpoint, problems = folder.newest_checkpoint(settings)
    for problem in problems:
        notice(f"{problem}; using the one before" if checkpoint else f"{problem}; starting again")
    if checkpoint is not None:
        lifetime.load_state(checkpoint.arrays, checkpoint.values)
        notice(f"going on in {folder.path} at block {len(lifetime.rows) + 1} of {len(lifetime.sequence)}")
    elif not lifetime.can_be_saved:
        notice("this run cannot be interrupted and resumed: a policy or the selector has no state_dict")
