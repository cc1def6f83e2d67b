"""Libraries that grow: PRQ-learning and PLPR, and what reusing a policy means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import repertory
from repertory.agents.protocol import AgentSetup, Episode, Opening, Reusing, Situation
from repertory.core.episode import EpisodePlayer
from repertory.core.lifetime import Monitor
from repertory.core.reuse import Reuse
from repertory.core.tally import events_of
from repertory.errors import EpisodeFault, UsageError
from repertory.report.sections import family, growth
from repertory.runs.spec import run_spec
from repertory.sweeps.results import read_results
from repertory.testing import check_agent

GREEDY = repertory.QTable(exploration_rate=0.0)
QUICK = repertory.DQN(learning_starts=60, buffer_size=300, net_arch=(8, 8))
OFFICE = repertory.domain("office-rooms")
CARTPOLE = repertory.domain("cartpole27")


def policy_of(settings: Any, domain: Any, seed: int) -> Any:
    return settings(domain.observation_space, domain.action_space, seed)


# ------------------------------------------------------------------------------------------------- pi-reuse


@pytest.mark.parametrize(("settings", "domain"), [(GREEDY, OFFICE), (QUICK, CARTPOLE)], ids=["q-table", "dqn"])
def test_reuse_is_the_same_on_both_paths_and_leaves_the_past_policy_as_it_is(settings: Any, domain: Any) -> None:
    outcomes, states = [], []
    for compiled in (True, False):
        player = EpisodePlayer(domain, compiled=compiled, opening_steps=20)
        policies = [policy_of(settings, domain, seed) for seed in (1, 2)]
        for seed in range(30):
            player.play(3, policies[0], seed)
        before = policies[0].state_dict()
        played = []
        for seed in range(30):
            reuse = Reuse(policies, Reusing(1, 0, 0.9, 0.9), policies[0].actions, seed)
            outcome = player.play(3, reuse, seed)
            played.append((outcome.steps, outcome.total_reward, outcome.opening.actions.tolist()))
        outcomes.append(played)
        states.append(policies[1].state_dict())
        assert all(np.array_equal(array, before[name]) for name, array in policies[0].state_dict().items())
    assert outcomes[0] == outcomes[1]
    for name, array in states[0].items():
        assert array.tobytes() == states[1][name].tobytes()


def test_psi_is_the_share_of_past_actions_and_fades_by_upsilon() -> None:
    """The past policy always goes north, the new one always east: who acted is seen from the actions."""
    policies = [policy_of(GREEDY, OFFICE, 0) for _ in range(2)]
    policies[0].policy["values"][:, 0] = 1.0
    policies[1].policy["values"][:, 1] = 1.0
    policies[1].policy["learning_rate"] = 0.0
    player = EpisodePlayer(OFFICE, opening_steps=12)
    psi, upsilon, actions = 0.8, 0.7, []
    for seed in range(6000):
        opening = player.play(0, Reuse(policies, Reusing(1, 0, psi, upsilon), 4, seed), seed).opening
        if len(opening.actions) == 12:
            actions.append(opening.actions.copy())
    found = np.array([[np.mean(column == action) for action in range(4)] for column in np.array(actions).T])
    for h in range(12):
        p = psi * upsilon**h
        expected = np.array([p, (1 - p) ** 2, 0, 0]) + (1 - p) * p / 4
        assert found[h] == pytest.approx(expected, abs=0.03)


def test_with_psi_0_the_new_policy_plays_as_it_would_alone() -> None:
    player = EpisodePlayer(OFFICE)
    alone, reusing, past = (policy_of(GREEDY, OFFICE, seed) for seed in (4, 4, 5))
    for seed in range(50):
        one = player.play(1, alone, seed)
        other = player.play(1, Reuse([past, reusing], Reusing(1, 0, 0.0, 1.0), 4, seed), seed)
        assert one == other
    assert np.array_equal(alone.policy["values"], reusing.policy["values"])


class Plain:
    """A learner that is not compiled."""

    learns_off_policy = True

    def __init__(self, observation_space: Any, action_space: Any, seed: int) -> None:
        self.seen = 0

    def begin_episode(self) -> None: ...

    def act(self, observation: Any) -> int:
        return 1

    def observe(self, *step: Any) -> None:
        self.seen += 1

    def action_probabilities(self, observations: np.ndarray) -> np.ndarray:
        return np.eye(4)[np.full(len(observations), 2)]


def test_learners_that_are_not_compiled_can_be_reused() -> None:
    record = repertory.live(
        OFFICE, Plain, 3, agent=repertory.PLPR(episodes=5), blocks=6, block_steps=700, sequence="rounds"
    )
    assert sum(policy.seen for policy in record.policies) > 0


@pytest.mark.parametrize("learner", ["ppo", "random", "drqn"])
def test_learners_that_must_act_themselves_are_refused(learner: str) -> None:
    domain = "pocman18" if learner == "drqn" else "cartpole27"
    with pytest.raises(UsageError, match=r"PLPR has past policies act while a new one learns.*such as q-table or dqn"):
        repertory.live(domain, learner, 3, agent="plpr", blocks=1, block_steps=10)


def test_a_past_policy_that_does_not_exist_is_told() -> None:
    class Wrong:
        def __init__(self, setup: AgentSetup) -> None:
            self.policies = [setup.new_policy(0)]

        def choose(self, situation: Situation, rng: np.random.Generator) -> Reusing:
            return Reusing(0, 1, 1.0, 0.95)

        def ended(self, situation: Situation, episode: Episode) -> None: ...

    with pytest.raises(EpisodeFault, match="does not exist; valid: 0 to 0"):
        repertory.live(OFFICE, GREEDY, 1, agent=Wrong, blocks=1, block_steps=10)


# ----------------------------------------------------------------------------------------------------- PLPR


def agent_of(settings: Any, policies: int = 4) -> Any:
    return run_spec(OFFICE, GREEDY, policies, "epsilon-greedy", agent=settings).lifetime().agent


def ended(agent: Any, task: int, rewards: list[float], policy: int = 0) -> None:
    rows = np.array(rewards)
    opening = Opening(rows, rows, rows, rows, rows > 9)
    agent.ended(Situation(task), Episode(policy, float(rows.sum()), len(rewards), opening))


def test_policies_are_drawn_by_the_softmax_of_their_mean_gains_and_kept_by_delta() -> None:
    agent, rng = agent_of(repertory.PLPR(episodes=6, tau=1.0, tau_increase=0.0)), np.random.default_rng(0)
    for _ in range(6):
        assert agent.choose(Situation(2), rng) == 0  # alone: there is nothing to reuse
        ended(agent, 2, [0.0, 0.0, 1.0])
    assert agent._memory.gains[0] == pytest.approx(0.95**2)
    assert agent.kept == 1
    agent.choose(Situation(3), rng)
    agent._memory.gains[:2] = 0.5, 2.5
    drawn = [agent.choose(Situation(3), rng) for _ in range(3000)]
    share = np.mean([choice == Reusing(1, 0, 1.0, 0.95) for choice in drawn])
    assert share == pytest.approx(np.exp(0.5) / (np.exp(0.5) + np.exp(2.5)), abs=0.02)
    assert {type(choice) for choice in drawn} == {int, Reusing}


@pytest.mark.parametrize(("past", "is_kept"), [(0.2499, True), (0.25, False), (0.9, False)])
def test_a_new_policy_is_kept_if_past_ones_gain_less_than_delta_of_it(past: float, is_kept: bool) -> None:
    agent, rng = agent_of(repertory.PLPR(episodes=100)), np.random.default_rng(0)
    agent.choose(Situation(0), rng)
    agent.choose(Situation(1), rng)  # another task: it is decided about the first
    assert agent.kept == 1
    agent._memory.gains[:2] = past, 1.0
    agent.choose(Situation(2), rng)
    assert agent.kept == 1 + is_kept
    assert [event["event"] for event in agent.news()] == ["kept", "kept" if is_kept else "dropped"]


def test_bad_settings_are_refused_in_one_line() -> None:
    for changes in ({"delta": -0.1}, {"psi": 1.5}, {"upsilon": 2}, {"tau": -1}, {"gamma": 0}, {"episodes": 0}):
        name = next(iter(changes))
        with pytest.raises(UsageError, match=f"PLPR.{name} is .*valid"):
            repertory.PLPR(**changes)
    with pytest.raises(UsageError, match="PLPR must know which task it is"):
        repertory.live(OFFICE, GREEDY, 3, agent="plpr", hidden_tasks=True, blocks=1, block_steps=10)


@pytest.mark.parametrize(("settings", "domain"), [(GREEDY, OFFICE), (QUICK, "cartpole27")], ids=["q-table", "dqn"])
def test_plpr_conforms_and_resumes(settings: Any, domain: Any) -> None:
    check_agent(repertory.PLPR(episodes=6, tau_increase=0.2), domain, settings, blocks=8, block_steps=400)


class Curve(Monitor):
    """Gains, discounted, of the episodes of the last block."""

    def __init__(self, block: int) -> None:
        self.block, self.gains, self._before = block, [], (0, 0.0)

    def episode_ended(self, tally: Any) -> None:
        steps, reward = tally.steps - self._before[0], tally.total_reward - self._before[1]
        self._before = (tally.steps, tally.total_reward)
        if tally.block == self.block:
            self.gains.append(0.95 ** (steps - 1) * reward)

    def block_ended(self, tally: Any) -> None:
        self._before = (0, 0.0)


def test_with_a_good_past_policy_learning_rises_earlier_than_from_scratch() -> None:
    """A goal in room b, after another one there, and with an empty library; as in the paper's figures."""
    rooms = [name.split(",")[0] for name in OFFICE.task_names]
    first, second = [task for task, room in enumerate(rooms) if room == "goal in room b"][:2]
    reused, scratch = [], []
    for run in range(3):
        curve = Curve(1)
        spec = run_spec(
            OFFICE, GREEDY, 2, "epsilon-greedy", agent=repertory.PLPR(), blocks=2, block_steps=200_000, run=run
        )
        lifetime = spec.lifetime()
        lifetime.sequence = np.array([first, second])
        lifetime.live([curve])
        reused.append(curve.gains[:2000])
        curve = Curve(0)
        lifetime = spec.lifetime()
        lifetime.sequence = np.array([second])
        lifetime.live([curve])
        scratch.append(curve.gains[:2000])
    reused, scratch = (np.mean(curves, axis=0).reshape(20, 100).mean(axis=1) for curves in (reused, scratch))
    assert reused[:5].mean() > 2 * scratch[:5].mean()
    assert reused[-5:].mean() > 0.3
    assert scratch[-5:].mean() > 0.1  # it learns, later and less


@pytest.mark.slow
def test_fifty_tasks_end_with_twelve_to_sixteen_policies(tmp_path: Path) -> None:
    record = repertory.live(
        OFFICE, GREEDY, 50, agent="plpr", blocks=50, block_steps=200_000, sequence="rounds", out=tmp_path / "run"
    )
    assert 12 <= record.agent.kept <= 16
    events = [event["event"] for _block, event in events_of(record.blocks)]
    assert events.count("kept") == record.agent.kept
    assert len(events) == 50


# ---------------------------------------------------------------------------------------------------- memory


def test_bytes_are_what_the_policies_take_now() -> None:
    table = policy_of(GREEDY, OFFICE, 0)
    assert table.nbytes == table.arrays.policy.nbytes >= 24 * 21 * 4 * 8
    record = repertory.live(
        OFFICE, GREEDY, 9, agent=repertory.PLPR(episodes=30, delta=1.0), blocks=12, block_steps=3000, sequence="rounds"
    )
    held = record.blocks["bytes"] / table.nbytes
    kept = pd.Series([event["event"] == "kept" for _block, event in events_of(record.blocks)]).cumsum()
    assert held.iloc[-1] == len(record.policies)
    assert (held.diff().dropna() >= 0).all()
    assert held.iloc[-1] >= kept.iloc[-1] > 1


def test_the_page_shows_how_memory_grows_where_it_does(tmp_path: Path) -> None:
    options: dict[str, Any] = {"blocks": 8, "block_steps": 2000, "sequence": "rounds"}
    repertory.live(OFFICE, GREEDY, 2, out=tmp_path / "fixed", **options)
    assert growth.section(read_results(tmp_path)) is None
    record = repertory.live(
        OFFICE, GREEDY, 8, agent=repertory.PLPR(episodes=20, delta=1.0), out=tmp_path / "g", **options
    )
    section = growth.section(read_results(tmp_path))
    row = next(row for row in section.tables[0].rows if row["kept"])
    assert row["kept"] == str(record.agent.kept)
    assert row["last block"] == record.blocks["bytes"].iloc[-1] > row["first block"]
    assert len(section.charts[0].panels[0].marks) == 2
    assert family.section(read_results(tmp_path)) is None  # nothing splits here


def test_a_memory_for_each_task_is_counted() -> None:
    domain = CARTPOLE
    policy = policy_of(QUICK.replace(memory="task-matching"), domain, 0)
    one = policy.nbytes
    policy.begin_task(3)
    memory = policy.nbytes - one
    assert memory > 300 * 4 * 4
    policy.begin_task(7)
    assert policy.nbytes == one + 2 * memory
    policy.begin_task(3)
    assert policy.nbytes == one + 2 * memory


def test_in_rounds_every_task_comes_once_a_round() -> None:
    spec = run_spec(OFFICE, GREEDY, 1, "epsilon-greedy", blocks=120, sequence="rounds", seed=3, run=2)
    tasks = spec.lifetime().sequence
    for start in (0, 50):
        assert sorted(tasks[start : start + 50]) == list(range(50))
    assert len(set(tasks[100:])) == 20
    other = run_spec(OFFICE, GREEDY, 1, "epsilon-greedy", blocks=120, sequence="rounds", seed=3).lifetime().sequence
    assert np.array_equal(tasks, (other + 2) % 50)
