"""Task inference: episodes and lives in which nobody says which task it is."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import repertory
from repertory.agents.context_returns import LATER, Returns
from repertory.agents.inference import InferringAgent, InferTasks
from repertory.agents.protocol import AgentSetup, Episode, Opening, Situation
from repertory.analysis.hidden import contexts_of_episodes, inference_of, infers
from repertory.core.lifetime import Monitor
from repertory.report.sections import contexts as contexts_section
from repertory.report.sections import family
from repertory.sweeps.results import read_results
from repertory.testing import check_agent, grouped_tasks
from tests.openings import BOX, TWO, line_opening, opening_of

# ---------------------------------------------------------------------------------------------------- the agent


class Still:
    """A policy that only stands there."""

    def __init__(self, *_: Any) -> None:
        self.told: list[int] = []

    def begin_task(self, task: int) -> None:
        self.told.append(task)

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Any) -> None: ...


SETUP = AgentSetup(
    observation_space=BOX,
    action_space=TWO,
    n_tasks=None,
    policies=1,
    new_policy=Still,
    make_selector=repertory.EpsilonGreedy(),
    rng=np.random.default_rng(0),
)


def agent_of(space: Any = BOX, **settings: Any) -> InferringAgent:
    return InferTasks(**settings)(SETUP._replace(observation_space=space))


def lived(agent: InferringAgent, make_opening: Any, tasks: list[tuple[float, float]], seed: int = 0) -> list[int]:
    """The contexts in which episodes of (push, reward) were played."""
    rng, played = np.random.default_rng(seed), []
    for push, reward in tasks:
        agent.choose(Situation(None), rng)
        played.append(agent.context)
        agent.ended(Situation(None), Episode(0, 16 * reward, 16, make_opening(rng, push, reward)))
    return played


def test_contexts_are_opened_and_found_again_one_episode_after_the_change() -> None:
    one, two, three = [(0.5, 1.0)] * 40, [(-0.5, 1.0)] * 40, [(0.49, 1.0)] * 40
    played = lived(agent_of(), line_opening, one + two + three + one + two)
    expected = [0] * 41 + [1] * 40 + [2] * 40 + [0] * 40 + [1] * 39
    assert played == expected


def test_tasks_that_differ_in_reward_only_are_told_apart() -> None:
    one, two = [(0.5, 1.0)] * 40, [(0.5, 1.5)] * 40
    assert lived(agent_of(), line_opening, one + two + one) == [0] * 41 + [1] * 40 + [0] * 39


def late_rewards(earned: list[float], **settings: Any) -> list[int]:
    """The contexts of episodes that begin alike, and earn what only their end shows."""
    agent, rng, played = agent_of(**settings), np.random.default_rng(0), []
    for total in earned:
        agent.choose(Situation(None), rng)
        played.append(agent.context)
        noise = float(rng.standard_normal())
        agent.ended(Situation(None), Episode(0, total + noise, 60, line_opening(rng, 0.5)))
    return played


def test_returns_tell_tasks_apart_that_differ_after_the_opening() -> None:
    blocks = [[10.0] * 60, [30.0] * 60, [-5.0] * 60]
    returns = [total for _ in range(3) for block in blocks for total in block]
    assert set(late_rewards(returns)) == {0}  # openings tell nothing
    played = late_rewards(returns, returns=True)
    last = [played[60 * block + 59] for block in range(9)]
    assert last == [0, 1, 2] * 3
    lags = [next(k for k in range(60) if played[60 * block + k] == last[block]) for block in range(1, 9)]
    assert max(lags) <= 8
    moves = sum(one != other for one, other in itertools.pairwise(played))
    assert moves <= 12  # eight changes, and now and then one context too many on the way


def test_returns_that_rise_as_a_policy_learns_are_no_other_context() -> None:
    learning = [100.0 * (1 - math.exp(-episode / 200)) for episode in range(2000)]
    assert set(late_rewards(learning, returns=True)) == {0}


def test_moments_of_returns_are_those_of_what_is_remembered() -> None:
    rng = np.random.default_rng(1)
    returns, totals = Returns(2, 3), rng.normal(5.0, 2.0, 48)
    for total in totals:
        returns.add(1, 2, total)
    remembered = totals[:-LATER]  # as many as 50 are averaged evenly
    assert returns.moments.episodes[1, 2] == len(remembered)
    assert returns.moments.mean[1, 2] == pytest.approx(remembered.mean())
    assert returns.moments.variance[1, 2] == pytest.approx(remembered.var())
    squared_scale = remembered.var() * (1 + 1 / len(remembered))
    expected = stats.t(4, remembered.mean(), math.sqrt(squared_scale)).logpdf(7.0)
    assert returns.score(1, 2, 7.0)[0] == pytest.approx(expected)
    known, unknown = returns.score(0, 2, 7.0)
    assert known == unknown  # nothing was played there


COUNTED = gymnasium.spaces.Discrete(20)


def walk_opening(rng: np.random.Generator, first: float, reward: float) -> Opening:
    """A walk around five numbered places, of which one pays."""
    moves = rng.integers(2, size=60)
    places = np.cumsum([0, *(2 * moves - 1)]) % 5
    return opening_of(first + places[:-1], moves, np.where(places[1:] == 3, reward, 0.0), first + places[1:])


def counted(places: Any) -> Opening:
    """Integers, as a Discrete space has them."""
    return places._replace(
        observations=places.observations.astype(np.int64), next_observations=places.next_observations.astype(np.int64)
    )


def lived_counted(tasks: list[tuple[float, float]], agent: InferringAgent | None = None) -> list[int]:
    def make(rng: np.random.Generator, first: float, reward: float) -> Opening:
        return counted(walk_opening(rng, first, reward))

    return lived(agent or agent_of(COUNTED), make, tasks)


def test_an_episode_of_which_all_is_new_to_a_context_is_not_its_own() -> None:
    """Nothing in it contradicts what the context knows; but the context explains nothing of it."""
    here, there = [(0, 0.0)] * 40, [(10, 0.0)] * 40
    assert lived_counted(here + there + here) == [0] * 41 + [1] * 40 + [0] * 39


def test_counted_tasks_that_differ_in_the_sign_of_rewards_only_are_told_apart() -> None:
    food, poison = [(0, 1.0)] * 40, [(0, -1.0)] * 40
    assert lived_counted(food + poison + food) == [0] * 41 + [1] * 40 + [0] * 39


def test_what_is_hidden_and_drawn_for_each_episode_is_one_context_in_the_end() -> None:
    """Contexts last: two that take turns at every other episode are one, unless they pay differently."""
    rng = np.random.default_rng(5)
    drawn = [(float(rng.choice([0, 10])), 1.0) for _ in range(150)]
    agent = agent_of(COUNTED)
    played = lived_counted([(0, 1.0)] * 40 + [(10, 1.0)] * 40 + drawn, agent)
    assert agent.contexts == 2
    assert agent.memory.heir[:2].tolist() == [0, 0]
    assert len(set(played[-100:])) == 1
    agent = agent_of(COUNTED)
    sign = {0: 1.0, 10: -1.0}
    lived_counted([(first, sign[first]) for first in [0] * 40 + [10] * 40 + [int(f) for f, _ in drawn]], agent)
    assert agent.memory.heir[:2].tolist() == [0, 1]
    assert agent.models.pay_differently(0, 1)


def test_one_task_is_one_context_for_ten_thousand_episodes() -> None:
    def noisy(rng: np.random.Generator, push: float, reward: float) -> Opening:
        """With noise that is not Gaussian, rewards that depend on it, and a fall now and then."""
        opening = line_opening(rng, push, reward)
        noise = 0.05 * rng.standard_t(3, opening.next_observations.shape)
        ended = np.zeros(16, bool)
        ended[-1] = rng.random() < 0.3
        rewards = np.where(ended, -5.0, opening.rewards + (rng.random(16) < 0.02))
        return opening._replace(next_observations=opening.next_observations + noise, rewards=rewards, terminated=ended)

    agent = agent_of()
    assert set(lived(agent, noisy, [(0.5, 1.0)] * 10_000)) == {0}
    assert agent.contexts == 1


def test_beyond_the_bound_the_likeliest_context_is_taken() -> None:
    agent = agent_of(max_contexts=2)
    tasks = [(push, 1.0) for push in (0.5, -0.5, 0.45, -0.45) for _ in range(30)]
    played = lived(agent, line_opening, tasks)
    assert agent.contexts == 2
    assert set(played) == {0, 1}


def test_contexts_that_turn_out_alike_are_merged() -> None:
    """A context is opened for nothing, by hand; as each explains the other's episodes, they become one."""
    agent = agent_of(max_contexts=4)
    lived(agent, line_opening, [(0.5, 1.0)] * 40)
    rng = np.random.default_rng(9)
    for _ in range(40):
        agent.models.learn(1, agent.models.encode(line_opening(rng, 0.5)))
    agent.contexts = 2
    told: list[Any] = []
    for seed in range(60):
        if not told:
            agent.memory.belief[:2], agent._is_certain = 0.5, False
        lived(agent, line_opening, [(0.5, 1.0)], seed)
        told += [event for event in agent.news() if event["event"] == "merged"]
    assert [(event["context"], event["into"]) for event in told] == [(1, 0)]
    assert agent.memory.heir.tolist() == [0, 0, 2, 3]
    assert set(lived(agent, line_opening, [(0.5, 1.0)] * 50)) == {0}


def test_an_episode_is_credited_to_the_context_that_it_was_of() -> None:
    agent = agent_of()
    credited: list[int] = []
    agent.inside.selector.update = lambda task, *_: credited.append(task)
    played = lived(agent, line_opening, [(0.5, 1.0)] * 40 + [(-0.5, 1.0)] * 40 + [(0.5, 1.0)] * 3)
    assert played[40:43] == [0, 1, 1]
    assert played[80:] == [1, 0, 0]
    # But for the one that opened the second context: its policy was chosen for the first.
    assert credited == [0] * 40 + [1] * 39 + [0] * 3
    assert agent.policies[0].told == played  # and policies are told what is inferred before they play


def test_an_agent_that_cannot_be_credited_is_not_told_of_an_episode_it_misjudged() -> None:
    agent = agent_of()
    heard: list[Any] = []

    class Inside:
        policies = [Still()]  # noqa: RUF012

        def choose(self, situation: Situation, rng: Any) -> int:
            return 0

        def ended(self, situation: Situation, episode: Episode) -> None:
            heard.append(situation.task)

    agent.inside = Inside()
    lived(agent, line_opening, [(0.5, 1.0)] * 40 + [(-0.5, 1.0)] * 3)
    assert heard == [0] * 40 + [1, 1]


def test_mbcd_s_rule_finds_the_same_contexts_where_they_are_plain() -> None:
    agent = repertory.MBCD(max_contexts=3, threshold=50)(SETUP)
    one, two = [(0.5, 1.0)] * 40, [(-0.5, 1.0)] * 40
    assert lived(agent, line_opening, one + two + one) == [0] * 41 + [1] * 40 + [0] * 39


def test_bad_settings_and_pairs_are_refused() -> None:
    for inside in ("bandit", "em(every=2", "em(every=none)", "em(evry=2)"):
        with pytest.raises(repertory.UsageError):
            InferTasks(inside)
    with pytest.raises(repertory.UsageError, match=r"InferTasks\.inside"):
        InferTasks(3)  # type: ignore[arg-type]
    with pytest.raises(repertory.UsageError, match="Box or Discrete"):
        agent_of(gymnasium.spaces.Dict({"a": BOX}))


@pytest.mark.parametrize("setting", [{"hazard": 0.5}, {"returns": True}])
def test_what_mbcd_s_rule_does_not_have_is_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(repertory.UsageError, match=f"MBCD.{next(iter(setting))} is .*; valid: "):
        repertory.MBCD(**setting)


def test_the_agent_inside_is_written_down_with_its_settings() -> None:
    settings = InferTasks(repertory.EMClustering(every=2, evaluation_episodes=1), max_contexts=3)
    assert settings.inside == "em(evaluation_episodes=1, every=2)"
    assert InferTasks(repertory.Splitting()).inside == "splitting"
    again = InferTasks(**settings.as_dict())
    assert again == settings
    with pytest.raises(repertory.UsageError, match="next_task"):
        InferringAgent(InferTasks(), lambda setup: type("Asks", (), {"next_task": None}), SETUP)


# ---------------------------------------------------------------------------------------------------- lives


@pytest.mark.parametrize("inside", ["library", "splitting", "em"])
def test_the_agent_conforms_and_resumes(inside: str) -> None:
    check_agent(InferTasks(inside, max_contexts=5), "cartpole54", "dqn", blocks=6, block_steps=800)
    check_agent(InferTasks(inside, max_contexts=5), "pocman18", "random", blocks=4, block_steps=2000)
    check_agent(InferTasks(inside, max_contexts=5, returns=True), "cartpole54", "dqn", blocks=4, block_steps=800)
    check_agent(repertory.MBCD(inside, max_contexts=5), "cartpole54", "dqn", blocks=4, block_steps=800)


def test_any_environment_can_be_inferred_on() -> None:
    check_agent(InferTasks(max_contexts=5), grouped_tasks(2), "random", blocks=6, block_steps=80)


class Crash(Exception):
    pass


class CrashAfterEpisode(Monitor):
    def __init__(self, block: int) -> None:
        self.block = block

    def episode_ended(self, tally: Any) -> None:
        if tally.block == self.block and tally.episodes == 9:
            raise Crash


def hidden(out: Path | None = None, **more: Any) -> repertory.Record:
    return repertory.live(
        "cartpole54",
        "random",
        2,
        blocks=12,
        block_steps=1500,
        task=(0, 27, 4),
        agent=InferTasks(max_contexts=6),
        hidden_tasks=True,
        out=out,
        **more,
    )


def test_a_life_is_told_measured_resumed_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPERTORY_CHECKPOINT_SECONDS", "0")
    whole = hidden(tmp_path / "whole")
    for block in (1, 4):
        with pytest.raises(Crash):
            hidden(tmp_path / "broken", monitors=[CrashAfterEpisode(block)])
    pd.testing.assert_frame_equal(whole.blocks, hidden(tmp_path / "broken").blocks, check_exact=True)
    assert infers(whole.blocks)
    measured = inference_of(whole.blocks)
    assert measured.contexts == whole.agent.contexts == whole.blocks["task"].nunique() == 3
    assert measured.detection == 1
    assert measured.false_alarms == 0
    assert measured.rand_index > 0.9
    results = read_results(tmp_path)
    section = contexts_section.section(results)
    assert section is not None
    assert {row["contexts"] for row in section.tables[0].rows} == {3}
    assert family.section(results) is None  # nothing was told of policies


def test_measures_of_a_made_up_life() -> None:
    def told(*moves: tuple[int, int]) -> str:
        return "\n".join(json.dumps({"event": "context", "context": c, "episode": e}) for e, c in moves)

    blocks = pd.DataFrame(
        {
            "block": range(5),
            "task": [3, 4, 4, 3, 5],
            "episodes": [10] * 5,
            # noticed after two episodes; a false alarm and back; noticed after one; not noticed
            "events": ["", told((12, 1)), told((25, 2), (26, 1)), told((31, 0)), ""],
        }
    )
    contexts = contexts_of_episodes(blocks)
    assert contexts.tolist() == [0] * 12 + [1] * 13 + [2] + [1] * 5 + [0] * 19
    found = inference_of(blocks)
    assert found.detection == 1.5
    assert found.missed == 1
    assert found.false_alarms == 1000 * 2 / 50
    assert found.contexts == 3
