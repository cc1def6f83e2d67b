"""A probe: one policy, trained on some of the tasks and looked at, greedy, on all of them from time to time.

Probes are what a recommendation is decided from. Each is a run in a folder of its own, with what was seen of it beside
(`looks.json`), so that one that was interrupted goes on.
"""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from repertory.analysis.evaluation import outcomes_at_rest, scored
from repertory.analysis.partition import LATEST
from repertory.core.at_rest import AtRest
from repertory.core.episode import EpisodePlayer
from repertory.core.lifetime import Lifetime, Monitor, Pause
from repertory.core.metrics import block_scores, divergence, standard_error
from repertory.core.tally import BlockTally
from repertory.learners.protocol import can_rest
from repertory.runs.folder import PART, RunFolder
from repertory.runs.live import live_spec
from repertory.runs.opened import open_record
from repertory.runs.reading import build, read_json
from repertory.runs.saver import Diverged
from repertory.runs.spec import RunSpec

LOOKS_FILE = "looks.json"
EPISODES = 3
"""Of each task in a look."""
RARER = 0.05
"""A look comes when a probe is older by this share at least: long ones are looked at as often as short ones."""
LOOKING = 0.25
"""Steps of looking for each of training, at most."""
FEWEST_BLOCKS = 12
"""Before it is asked whether a probe has levelled off."""
DOUBT = 2.0
"""Standard errors by which a policy must have fallen for it to be a fall."""
SURE = 3.0
"""Standard errors by which a policy must be better than random play to have learned."""


@dataclass
class Spent:
    """On one probe, or on all."""

    steps: int = 0
    """Of training and of looking."""
    seconds: float = 0.0
    core_seconds: float = 0.0

    def add(self, other: Spent) -> None:
        self.steps += other.steps
        self.seconds += other.seconds
        self.core_seconds += other.core_seconds


class Budget:
    """Steps, of training and of looking, and seconds that a recommendation may take."""

    def __init__(self, steps: int, seconds: float | None) -> None:
        self.steps, self.seconds = steps, seconds
        self.spent = Spent()

    @property
    def is_spent(self) -> bool:
        return self.used >= 1.0

    @property
    def used(self) -> float:
        """The share that is used."""
        return min(1.0, self._used)

    @property
    def affordable(self) -> float:
        """Steps that it allows in all, at the pace so far."""
        return self.spent.steps / self._used if self._used else float(self.steps)

    @property
    def _used(self) -> float:
        in_time = 0.0 if self.seconds is None else self.spent.seconds / self.seconds
        return max(self.spent.steps / self.steps, in_time)


@dataclass(frozen=True)
class Look:
    """What a policy scores, after so many steps of training."""

    steps: int
    scores: list[float]
    """On each task that is looked at."""
    played: int
    """Steps that it took to see."""


@dataclass(frozen=True)
class Seen:
    """Of a probe so far, as it is saved."""

    looks: list[dict[str, Any]]
    diverged: bool
    spent: dict[str, Any]


class Probe(Monitor):
    """One policy and the tasks that it is trained on, in random blocks."""

    def __init__(
        self, spec: RunSpec, path: Path, tasks: Sequence[int], every: int, budget: Budget, heard: Callable[[], None]
    ) -> None:
        """`tasks` are those that are looked at, `every` so many steps; `heard` is called now and then."""
        self.spec, self.path = spec, path
        self.every = every
        self.diverged = False
        """Whether its weights are no longer numbers; it is not trained any further then."""
        self.blocks = pd.DataFrame()
        self.looks: list[Look] = []
        self._tasks, self._budget, self._heard = list(tasks), budget, heard
        self._spent = Spent()
        self._enough: Callable[[Probe], bool] = lambda probe: False
        self._at_most = 0
        self._read()

    @property
    def trained_on(self) -> tuple[int, ...]:
        task = self.spec.task
        return task if isinstance(task, tuple) else (task,) if task is not None else tuple(self._tasks)

    @property
    def steps(self) -> int:
        """Of training so far."""
        return int(self.blocks["steps"].sum()) if len(self.blocks) else 0

    # ---- what was seen

    @property
    def seen(self) -> NDArray[np.float64]:
        """(look, task): the scores of all looks."""
        return np.array([look.scores for look in self.looks])

    @property
    def latest(self) -> NDArray[np.float64]:
        """(look, task): the scores of the latest looks."""
        return self.seen[-LATEST:]

    def lived(self, base: NDArray[np.float64]) -> NDArray[np.float64]:
        """The score of each block above `base`, which is by task, in shares of the best block of the same task."""
        task = self.blocks["task"].to_numpy()
        above = block_scores(self.blocks, self.spec.domain.score).to_numpy() - base[task]
        best = pd.Series(above).groupby(task).transform("max").to_numpy()
        return np.where(best > 0, above / np.where(best > 0, best, 1.0), 0.0)

    def has_learned(self, base: NDArray[np.float64]) -> bool:
        """Whether its last third is better than `base` beyond doubt."""
        last = np.array_split(self.lived(base), 3)[-1]
        return len(last) > 1 and bool(last.mean() > SURE * last.std(ddof=1) / math.sqrt(len(last)))

    def has_levelled(self, base: NDArray[np.float64], tolerance: float) -> bool:
        """Whether it has learned, and its last third is better than the one before by less than the tolerance."""
        if len(self.blocks) < FEWEST_BLOCKS or not self.has_learned(base):
            return False
        _first, middle, last = np.array_split(self.lived(base), 3)
        return bool(last.mean() - middle.mean() < tolerance * last.mean())

    def fall(self, base: NDArray[np.float64], within: float = math.inf) -> float:
        """From the best third of its first steps to the last, beyond doubt, as a share of the best; 0 of too few."""
        lived = self.lived(base)[: int((self.blocks["steps"].cumsum() <= within).sum())]
        if len(lived) < FEWEST_BLOCKS:
            return 0.0
        thirds = np.array_split(lived, 3)
        best, last = max(thirds, key=np.mean), thirds[-1]
        doubt = DOUBT * math.hypot(standard_error(best), standard_error(last))
        return max(0.0, float((best.mean() - last.mean() - doubt) / best.mean())) if best.mean() > 0 else 0.0

    @property
    def diverged_after(self) -> int | None:
        """Steps of training after which its values had passed what is possible."""
        found = divergence(self.blocks) if len(self.blocks) else None
        if found is not None:
            return int(self.blocks["steps"].to_numpy()[: found.block + 1].sum())
        return self.steps if self.diverged else None

    def diverged_within(self, steps: float) -> int | None:
        """The same, if it was not later than that."""
        after = self.diverged_after
        return after if after is not None and after <= steps else None

    @property
    def policy(self) -> Any:
        """As it was saved last."""
        return open_record(self.path, domain=self.spec.domain, learner=self.spec.learner).policies[0]

    # ---- training

    def train(self, enough: Callable[[Probe], bool], at_most: int) -> None:
        """Go on until a look is `enough`, for `at_most` steps in all, or until the budget is spent."""
        if self.diverged or self.steps >= at_most or self._budget.is_spent or (self.looks and enough(self)):
            return
        self._enough, self._at_most = enough, at_most
        self._player = EpisodePlayer(self.spec.domain)
        try:
            self.blocks = live_spec(self.spec, self.path, [self]).blocks
        except Diverged:
            self.diverged = True
            self._save()
        finally:
            self._player.close()

    def lifetime_begins(self, lifetime: Lifetime) -> None:
        self._lifetime = lifetime
        # A run that was killed goes on from its last checkpoint, and what was seen later is seen again.
        self.looks = [look for look in self.looks if look.steps <= lifetime.steps]
        self._clock, self._core_clock = time.monotonic(), time.process_time()

    def block_ended(self, tally: BlockTally) -> None:
        steps = self._lifetime.steps
        is_last = steps >= self._at_most
        last, played = (self.looks[-1].steps, self.looks[-1].played) if self.looks else (0, 0)
        if is_last or steps - last >= max(self.every, RARER * last, played / LOOKING):
            self._look(steps)
        self._spend(tally.steps)
        self._heard()
        if self.looks and self.looks[-1].steps == steps:
            self._save()
            self.blocks = self._lifetime.blocks
            if is_last or self._enough(self):
                raise Pause
        if self._budget.is_spent:
            self._save()
            raise Pause

    def _spend(self, steps: int) -> None:
        now, core_now = time.monotonic(), time.process_time()
        spent = Spent(steps, now - self._clock, core_now - self._core_clock)
        self._clock, self._core_clock = now, core_now
        self._spent.add(spent)
        self._budget.spent.add(spent)

    def _look(self, steps: int) -> None:
        policy = self._lifetime.policies[0]
        # The same episodes every time: looks differ by the policy alone.
        if can_rest(policy):
            at_rest = AtRest(policy, None, self.spec.window)
            outcomes = outcomes_at_rest(self._player, at_rest, self._tasks, EPISODES, self.spec.seed)
        else:
            outcomes = self._outcomes_of_copies(policy)
        played = int(outcomes[..., 1].sum())
        self.looks.append(Look(steps, scored(outcomes, self.spec.domain.score)[0].tolist(), played))
        self._spend(played)

    def _outcomes_of_copies(self, policy: Any) -> NDArray[np.float64]:
        """Of a policy that cannot be asked what it would do: a copy plays each task, exploring and learning as ever."""
        found = np.empty((len(self._tasks), EPISODES, 2))
        for row, task in enumerate(self._tasks):
            copy = self.spec.new_policy(0)
            copy.load_state_dict(policy.state_dict())  # type: ignore[attr-defined]
            for episode in range(EPISODES):
                outcome = self._player.play(task, copy, self.spec.seed + episode)
                found[row, episode] = outcome.total_reward, outcome.steps
        return found

    # ---- its folder

    def copied(self, path: Path) -> Probe:
        """One that goes on from here in another folder, while this one stays as it is. What it took is not counted
        again."""
        if not path.exists():
            part = path.with_name(path.name + PART)
            shutil.rmtree(part, ignore_errors=True)
            shutil.copytree(self.path, part)
            kept = read_json(part / LOOKS_FILE) | {"spent": asdict(Spent())}
            (part / LOOKS_FILE).write_text(json.dumps(kept))
            part.rename(path)
        return Probe(self.spec, path, self._tasks, self.every, self._budget, self._heard)

    def _read(self) -> None:
        """What an earlier process has done."""
        try:
            kept = build(Seen, read_json(self.path / LOOKS_FILE), self.path / LOOKS_FILE)
            self.blocks = RunFolder(self.path).read_blocks()
        except FileNotFoundError:  # it died before it had saved anything
            return
        self.looks = [build(Look, look, self.path / LOOKS_FILE) for look in kept.looks]
        self.diverged = kept.diverged
        self._spent = build(Spent, kept.spent, self.path / LOOKS_FILE)
        self._budget.spent.add(self._spent)

    def _save(self) -> None:
        kept = Seen([asdict(look) for look in self.looks], self.diverged, asdict(self._spent))
        RunFolder(self.path).write(self.path / LOOKS_FILE, lambda file: file.write_text(json.dumps(asdict(kept))))
