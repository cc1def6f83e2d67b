"""Task inference: an agent around an agent, where nobody says which task it is.

From how each episode begins, it infers which known context it is in, notices when none fits, and opens a new one. The
agent inside sees contexts where it saw tasks. `docs/hidden-tasks.md` has the rule on one page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.agents.context_counts import Counts
from repertory.agents.context_filter import ACCEPTED, FORGOTTEN, SURPRISE, judge, passed, updated
from repertory.agents.context_regression import Regressions
from repertory.agents.context_returns import Returns
from repertory.agents.em import EMClustering
from repertory.agents.library import OwnArrays, PolicyLibrary, join, share_out
from repertory.agents.protocol import (
    AgentSetup,
    Episode,
    Event,
    Frozen,
    MakeAgent,
    Opening,
    Situation,
    can_be_saved,
    news_of,
)
from repertory.agents.splitting import Splitting
from repertory.errors import UsageError, shown
from repertory.learners.protocol import State
from repertory.settings import Settings, setting

INSIDE: dict[str, type[Any]] = {"library": PolicyLibrary, "splitting": Splitting, "em": EMClustering}
CERTAIN = 0.99
"""A belief beyond which a context is played, and learned from, without looking at the others."""
STRANGE_RETURN = SURPRISE / 2
"""A context to which one return is stranger than this, of what it may be at most, is not moved to."""
THINNED = 16
"""A context that has learned much learns from one episode in so many."""
ALIKE_LOOKS = 5
"""Two contexts are one if each explained the other's episodes as well as the other did, in so many looks in a row."""
ALIKE = 3.0
"""As well: but for so much log evidence."""
SOON, TURNS = 10, 6
"""Contexts last: two that took turns so many times, for no more than so many episodes each, are one."""
MOVED, MERGED = "context", "merged"
"""Kinds of events: episodes from `episode` on are played in `context`; a context is one with an older one."""

NUMBERS = ("contexts", "context", "episodes", "_unlooked_episodes", "_unlooked_steps", "_is_certain", "_entered")
"""Plain attributes of an agent that are saved."""
PLAIN = "plain/json"


@dataclass(frozen=True)
class InferTasks(Settings):
    """An agent that infers the task, around one that has to know it: `InferTasks(Splitting(), max_contexts=20)`."""

    inside: str = setting(
        "library",
        "Agent that sees contexts where it saw tasks: library, splitting, em; with settings em(every=2).",
    )
    max_contexts: int = setting(64, "The most contexts; when there are so many, the likeliest is taken.", at_least=1)
    opening_steps: int = setting(16, "First steps of each episode, from which its context is inferred.", at_least=1)
    threshold: float = setting(
        15.0,
        "Of the CUSUM, in nats: higher for fewer false alarms or longer openings, lower for sooner detection.",
        above=0,
    )
    hazard: float = setting(0.001, "Prior probability that the next episode is of another context.", above=0, below=1)
    returns: bool = setting(False, "Whether returns are evidence too: for rewards that differ after the opening.")

    def __post_init__(self) -> None:
        if type(self.inside) in INSIDE.values():  # settings, as the text that a record can hold
            object.__setattr__(self, "inside", _written(self.inside))
        super().__post_init__()

    def validate(self) -> None:
        _read(self.inside)

    def __call__(self, setup: AgentSetup) -> InferringAgent:
        return InferringAgent(self, self.agent_inside, setup)

    @property
    def agent_inside(self) -> MakeAgent:
        """Its settings."""
        settings: MakeAgent = _read(self.inside)
        return settings


def _written(settings: Any) -> str:
    """`em(every=2)`: the name of an agent, with the settings that are not its defaults."""
    name = next(name for name, kind in INSIDE.items() if type(settings) is kind)
    usual = INSIDE[name]().as_dict()
    changed = [f"{key}={value}" for key, value in settings.as_dict().items() if value != usual[key]]
    return f"{name}({', '.join(changed)})" if changed else name


def _read(text: str) -> Any:
    """The settings that `_written` wrote."""
    name, bracket, rest = text.partition("(")
    if name not in INSIDE or (bracket and not rest.endswith(")")):
        raise UsageError(f"InferTasks.inside is {shown(text)}; valid: {', '.join(INSIDE)}, or em(every=2)")
    changes = (item.partition("=") for item in rest.removesuffix(")").split(",") if item)
    return INSIDE[name]().replace_from_text({key.strip(): value.strip() for key, _equals, value in changes})


class Memory(NamedTuple):
    """What the agent believes."""

    belief: NDArray[np.float64]
    """The probability of each context at the last look."""
    sums: NDArray[np.float64]
    """(quantity,): the CUSUMs of the context that is played."""
    return_sum: NDArray[np.float64]
    """(1,): the one of its returns."""
    alike: NDArray[np.int64]
    """(context, other): looks in a row in which the other explained this one's episodes as well."""
    turns: NDArray[np.int64]
    """(context, other): how often they have taken turns of late."""
    heir: NDArray[np.int64]
    """The context that each has been merged into; itself if none."""
    doubt: NDArray[np.bool_]
    """Contexts of which it is one, and only what is paid will tell which; none where that is known."""


class InferringAgent:
    """See the module."""

    def __init__(self, settings: InferTasks, make_inside: MakeAgent, setup: AgentSetup) -> None:
        self.settings = settings
        self.opening_steps = settings.opening_steps
        most = settings.max_contexts
        self.inside: Any = make_inside(setup._replace(n_tasks=most, tasks=range(most), contexts=None, evaluate=None))
        if hasattr(self.inside, "next_task"):
            raise UsageError("an agent that asks for tasks cannot be told inferred ones; valid: one without next_task")
        kind = Counts if Counts.fits(setup.observation_space) else Regressions
        self.models: Any = kind(most, setup.observation_space, setup.action_space)
        self.memory = Memory(
            belief=np.eye(most)[0],
            sums=np.zeros(self.models.outputs),
            return_sum=np.zeros(1),
            alike=np.zeros((most, most), np.int64),
            turns=np.zeros((most, most), np.int64),
            heir=np.arange(most),
            doubt=np.zeros(most, np.bool_),
        )
        self.returns = Returns(most, setup.policies) if settings.returns else None
        self.contexts = 1
        """How many have been opened."""
        self.context = 0
        """The one that the next episode is played in."""
        self.episodes = 0
        self._unlooked_episodes = self._unlooked_steps = 0
        """Since the last look at all contexts."""
        self._is_certain = True
        """Of the context, as of the last look."""
        self._entered = 0
        """The episode after which the context was last found to be another."""
        self._news: list[Event] = []

    @property
    def policies(self) -> Any:
        """Those of the agent inside."""
        return self.inside.policies

    def news(self) -> list[Event]:
        told, self._news = self._news, []
        return told + news_of(self.inside)

    # ---- an episode

    def choose(self, situation: Situation, rng: np.random.Generator) -> int | Frozen:
        """What the agent inside chooses for the context. While it is open which one it is, one is drawn."""
        if not self._is_certain:
            self.move(int(np.searchsorted(self.memory.belief.cumsum(), rng.random() * self.memory.belief.sum())))
        choice: int | Frozen = self.inside.choose(Situation(self.context), rng)
        policy = self.inside.policies[choice.policy if isinstance(choice, Frozen) else choice]
        begin_task = getattr(policy, "begin_task", None)
        if begin_task is not None:
            begin_task(self.context)
        return choice

    def ended(self, situation: Situation, episode: Episode) -> None:
        """Infer the context, and let the agent inside know what its choice was worth, and in which context."""
        played, known = self.context, self.contexts
        self.episodes += 1
        self._unlooked_episodes += 1
        self._unlooked_steps += episode.steps
        assert episode.opening is not None
        strange = self.returns is not None and self._judge_return(played, episode, self.memory.return_sum)[1] > 0.0
        if strange or not self.goes_on(episode.opening):
            teaches = self._is_turn or not self.models.is_established(played)
            seen = self.models.encode(episode.opening)
            if self.infer(seen, episode) and (teaches or self.context != played):
                self.models.learn(self.context, seen)
        if self.returns is not None and self.context == played:
            self.returns.add(played, episode.policy, episode.total_reward)
        # Who played the episode that opened a context was chosen for another one, and would be its favourite for it.
        is_new = self.contexts > known
        if self.context == played or (not is_new and getattr(self.inside, "credits_any_task", False)):
            self.inside.ended(Situation(self.context), episode)

    def goes_on(self, opening: Opening) -> bool:
        """Whether the context goes on, as it mostly does, without a look at the others; if so, all is done."""
        if not self._is_certain or self._unlooked_steps >= self.models.look_steps:
            return False
        sums, threshold = self.memory.sums, self.settings.threshold
        return bool(self.models.goes_on(self.context, opening, sums, threshold, self._is_turn))

    @property
    def _is_turn(self) -> bool:
        """Whether this is one of the few episodes that teach a context which has learned much."""
        return self.episodes % THINNED == 0

    def _judge_return(self, context: int, episode: Episode, total: NDArray[np.float64]) -> tuple[float, float]:
        """The evidence of a return for a context, and what its CUSUM, begun at `total`, comes to."""
        if self.returns is None:
            return 0.0, 0.0
        log_p, log_new = self.returns.score(context, episode.policy, episode.total_reward)
        evidence, highest = judge(total, np.array([[log_p]]), np.array([[log_new]]))
        return evidence, highest

    def infer(self, seen: Any, episode: Episode) -> bool:
        """Move to the context that an episode was of; whether it is clear enough that its model may learn from it."""
        played = self.context
        np.multiply(self.memory.sums, FORGOTTEN, out=self.memory.sums)
        log_evidence, highest = judge(self.memory.sums, self.models.score(played, seen), seen.log_new)
        if self._is_in_doubt_still(seen):
            return self._weigh_pay(seen)
        log_evidence += self._judge_return(played, episode, np.zeros(1))[0]
        fits = max(highest, self.memory.return_sum[0]) <= self.settings.threshold and self.models.is_usual(played, seen)
        if not fits or self._unlooked_steps >= self.models.look_steps or not self._is_certain:
            self._look_around(seen, episode, log_evidence, fits)
        if self.context != played:
            return True
        return self._is_certain and bool(highest <= ACCEPTED * self.settings.threshold)

    # ---- all contexts

    def _look_around(self, seen: Any, episode: Episode, log_evidence: float, fits: bool) -> None:
        """Compare all contexts, and go to the likeliest of those that fit; if none does, to a new one."""
        m, played, count = self.memory, self.context, self.contexts
        evidence = np.full(count, -np.inf)
        accepted = np.zeros(count, bool)
        nothing_known = float(seen.log_new.sum()) + self.settings.threshold
        for context in range(count):
            if m.heir[context] != context:
                continue
            if context == played:
                evidence[context], accepted[context] = log_evidence, fits
                continue
            found, highest = judge(np.zeros(len(m.sums)), self.models.score(context, seen), seen.log_new)
            earned, strange = self._judge_return(context, episode, np.zeros(1))
            evidence[context] = found + earned
            explains = highest <= ACCEPTED * self.settings.threshold and found > nothing_known
            accepted[context] = explains and strange <= STRANGE_RETURN and self.models.is_usual(context, seen)
        if fits and self._is_certain and not self.models.compares_fairly:
            pass  # contexts last
        elif not accepted.any() and count < len(m.belief):
            self.open()
        else:
            prior = passed(m.belief[:count], self.settings.hazard, self._unlooked_episodes)
            m.belief[:count] = updated(prior, np.where(accepted | ~accepted.any(), evidence, -np.inf))
        self._unlooked_episodes = self._unlooked_steps = 0
        was_certain, self._is_certain = self._is_certain, bool(m.belief.max() >= CERTAIN)
        self.move(int(m.belief.argmax()))
        m.doubt[:] = False
        if self.context != played:
            self._note_turn(played, was_certain and self._is_certain)
        if self.context != played or not self._is_certain:
            self._doubt_twins(seen)
        if accepted[played]:
            self._note_alike(played, evidence, accepted)

    def open(self) -> None:
        """A new context, which it is for certain."""
        self.memory.belief[:] = np.eye(len(self.memory.belief))[self.contexts]
        self.contexts += 1

    def move(self, context: int) -> None:
        if context != self.context:
            self.context = context
            self.memory.sums[:] = self.memory.return_sum[:] = 0.0
            if self.returns is not None:
                self.returns.moved()
            self._news.append({"event": MOVED, "context": context, "episode": self.episodes})

    def _doubt_twins(self, seen: Any) -> None:
        """A policy that stays away from what is paid does not find out whether it should: where another context is the
        same but for that, let both be tried until something is paid."""
        m, alive = self.memory, np.flatnonzero(self.memory.heir[: self.contexts] == np.arange(self.contexts))
        twins = self.models.twins(self.context, (int(other) for other in alive if other != self.context))
        both = [self.context, *twins]
        if twins and m.belief[both].sum() >= CERTAIN and self.models.log_pay(self.context, seen) is None:
            m.doubt[both] = True
            m.belief[:] = m.doubt / m.doubt.sum()
            self._is_certain = False

    def _is_in_doubt_still(self, seen: Any) -> bool:
        """Whether what was seen is of one of the contexts between which it is open, by all but what it pays."""
        goes_on = self.memory.sums[0] <= self.settings.threshold
        return goes_on and any(self.models.is_usual(context, seen) for context in self.memory.doubt.nonzero()[0])

    def _weigh_pay(self, seen: Any) -> bool:
        """Of contexts that differ in pay alone, move to the one that pays so; whether anything was paid."""
        m, (open_to,) = self.memory, self.memory.doubt.nonzero()
        evidence = [self.models.log_pay(context, seen) for context in open_to]
        self._unlooked_episodes = self._unlooked_steps = 0
        if evidence[0] is None:
            return False
        best = int(open_to[np.argmax(evidence)])
        m.doubt[:], m.belief[:], self._is_certain = False, np.eye(len(m.belief))[best], True
        self.move(best)
        return True

    def _note_alike(self, played: int, evidence: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Merge contexts that cannot be told apart, whichever of them is played: any policy suits both alike."""
        m, count = self.memory, len(evidence)
        as_well = accepted & (np.abs(evidence - evidence[played]) < ALIKE)
        m.alike[played, :count] = np.where(as_well, m.alike[played, :count] + 1, 0)
        both = np.minimum(m.alike[played, :count], m.alike[:count, played]) >= ALIKE_LOOKS
        both[played] = False
        for other in np.flatnonzero(both & (m.heir[:count] == np.arange(count))):
            self._merge(played, int(other))
            return  # one at a time: what is alike changes with it

    def _note_turn(self, played: int, is_clear: bool) -> None:
        """Merge contexts that take turns: what is drawn anew for each episode, and hidden, tells them apart."""
        m, now, stayed = self.memory, self.context, self.episodes - self._entered
        self._entered = self.episodes
        if stayed > SOON or not is_clear:
            m.turns[:] = 0
            return
        m.turns[played, now] += 1
        m.turns[now, played] += 1
        if m.turns[played, now] >= TURNS and not self.models.pay_differently(played, now):
            self._merge(played, now)

    def _merge(self, one: int, other: int) -> None:
        """Let the older context be both."""
        m, (kept, gone) = self.memory, sorted((one, other))
        self.models.merge(kept, gone)
        m.heir[m.heir == gone] = kept
        m.belief[kept] += m.belief[gone]
        m.belief[gone] = 0.0
        m.turns[:] = 0
        self._news.append({"event": MERGED, "context": gone, "into": kept, "episode": self.episodes})
        if self.context == gone:
            self.move(kept)

    # ---- saving

    def _parts(self) -> dict[str, Any]:
        parts = {"belief": OwnArrays(self.memory._asdict()), "models": self.models}
        return parts if self.returns is None else parts | {"returns": self.returns}

    @property
    def can_be_saved(self) -> bool:
        return can_be_saved(self.inside)

    def state_dict(self) -> State:
        inside = {f"inside/{name}": array for name, array in self.inside.state_dict().items()}
        numbers = [getattr(self, name) for name in NUMBERS]
        plain = np.frombuffer(json.dumps([numbers, self._news]).encode(), np.uint8)
        return join(self._parts()) | inside | {PLAIN: plain}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        share_out({"belief/doubt": self.memory.doubt, **state}, self._parts())  # older checkpoints know of none
        numbers, self._news = json.loads(state[PLAIN].tobytes())
        for name, value in zip(NUMBERS, numbers, strict=True):
            setattr(self, name, value)
        self.inside.load_state_dict(
            {name.removeprefix("inside/"): array for name, array in state.items() if name.startswith("inside/")}
        )
