"""Agents that tell tasks apart by returns: Bayesian policy reuse, and a bounded library like SANE."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import repertory
from repertory.agents.bpr import best_policy, updated
from repertory.agents.protocol import Episode, Frozen, Opening, Situation
from repertory.agents.sane import BYTES_A_STEP, most_alike
from repertory.core.tally import events_of
from repertory.errors import UsageError
from repertory.runs.spec import run_spec
from repertory.testing import check_agent, grouped_tasks

TABLE = repertory.QTable(learning_rate=0.3, exploration_rate=0.1)
QUICK = repertory.DQN(learning_starts=60, buffer_size=300, net_arch=(8, 8))
FOUR_GROUPS = grouped_tasks(groups=4, tasks_per_group=1, states=5)
TWO_GROUPS = grouped_tasks(groups=2, tasks_per_group=1, states=5)


# ------------------------------------------------------------------------------------------------------ BPR


def test_beliefs_follow_bayes_rule(rng: np.random.Generator) -> None:
    means, spreads = rng.normal(size=(3, 4, 4)), rng.uniform(0.3, 2, size=(3, 4, 4))
    for mean, spread in zip(means, spreads, strict=True):
        belief = rng.dirichlet(np.ones(4))
        likelihood = norm.pdf(0.7, mean[:, 2], spread[:, 2])
        expected = belief * likelihood / (belief * likelihood).sum()
        assert updated(belief, 0.7, mean[:, 2], spread[:, 2]) == pytest.approx(expected)
    certain = updated(np.array([0.5, 0.5]), 1.0, np.array([1.0, -90.0]), np.ones(2))
    assert certain.tolist() == [1.0, 0.0]
    floored = updated(np.array([0.5, 0.5]), 1.0, np.array([1.0, -90.0]), np.ones(2), floor=0.01)
    assert floored == pytest.approx([1 / 1.01, 0.01 / 1.01])


def test_the_policy_most_likely_to_do_better_than_the_best_on_average_plays(rng: np.random.Generator) -> None:
    for _ in range(20):
        belief, means, spreads = rng.dirichlet(np.ones(3)), rng.normal(size=(3, 3)), rng.uniform(0.2, 2, size=(3, 3))
        best = (belief @ means).max()
        drawn = rng.choice(3, p=belief, size=40_000)
        shares = [np.mean(rng.normal(means[drawn, p], spreads[drawn, p]) > best) for p in range(3)]
        assert shares[best_policy(belief, means, spreads)] > max(shares) - 0.02
    assert best_policy(np.array([0.0, 1.0]), np.array([[5.0, 0.0], [1.0, 2.0]]), np.ones((2, 2))) == 1


def test_bpr_finds_the_policy_of_a_task_that_nobody_names() -> None:
    """Four tasks that contradict each other; in the second half they come unnamed, and 5 is all that can be earned."""
    record = repertory.live(
        FOUR_GROUPS, TABLE, 4, agent=repertory.BPR(training_share=0.4), blocks=60, block_steps=200, seed=1
    )
    played = record.blocks.iloc[24:]
    assert sorted(record.blocks["task"][:24].unique()) == [0, 1, 2, 3]
    assert played["last_return"].mean() > 4.5
    assert played["mean_return"].mean() > 4.0  # it takes an episode or a few to find out
    assert record.blocks["evaluation_steps"].sum() == 10 * (4 * 5 + 12 * 1)  # the wrong policy ends an episode at once


def test_bpr_plus_learns_what_no_model_explains_and_finds_it_again() -> None:
    record = repertory.live(
        FOUR_GROUPS,
        TABLE,
        4,
        agent=repertory.BPR(learns_new=True, known=1, training_share=0.1),
        blocks=120,
        block_steps=300,
        seed=2,
    )
    assert len(record.policies) == 4
    assert len(events_of(record.blocks)) == 3
    assert sorted(record.agent._memory.sources.tolist()) == [0, 1, 2, 3]
    assert record.blocks["last_return"].iloc[-40:].mean() > 4.5


def test_bpr_refuses_what_it_cannot_do() -> None:
    with pytest.raises(UsageError, match="BPR must know which task it is"):
        repertory.live(FOUR_GROUPS, TABLE, 2, agent="bpr", hidden_tasks=True, blocks=8, block_steps=10)
    with pytest.raises(UsageError, match=r"5 known tasks.*valid: at most 4 known tasks"):
        repertory.live(FOUR_GROUPS, TABLE, 5, agent="bpr", blocks=80, block_steps=10)
    with pytest.raises(UsageError, match=r"valid: at most 1 known tasks"):
        repertory.live(FOUR_GROUPS, TABLE, 3, agent="bpr", blocks=2, block_steps=10)
    for changes in ({"training_share": 1}, {"model_episodes": 1}, {"belief_floor": 0}, {"known": 0}):
        with pytest.raises(UsageError, match=f"BPR.{next(iter(changes))} is .*valid"):
            repertory.BPR(**changes)


@pytest.mark.parametrize("learns_new", [False, True])
def test_bpr_conforms(learns_new: bool) -> None:
    agent = repertory.BPR(learns_new=learns_new, known=1, training_share=0.3, unexplained_episodes=2)
    check_agent(agent, FOUR_GROUPS, TABLE, blocks=24, block_steps=100)
    check_agent(agent, "cartpole27", QUICK, blocks=12, block_steps=100)


# ----------------------------------------------------------------------------------------------------- SANE


def agent_of(settings: Any, policies: int) -> Any:
    spec = run_spec(FOUR_GROUPS, TABLE, policies, "epsilon-greedy", agent=settings, hidden_tasks=True)
    return spec.lifetime().agent


def earn(agent: Any, *returns: float) -> list[Any]:
    """Episodes with these returns; who played them."""
    choices = []
    for total_reward in returns:
        choices.append(agent.choose(Situation(None), np.random.default_rng(0)))
        policy = choices[-1].policy if isinstance(choices[-1], Frozen) else choices[-1]
        state = np.zeros((1, 1), np.int64)
        agent.ended(Situation(None), Episode(policy, total_reward, 5, Opening(state[0], state, state, state, state)))
    return choices


def test_a_policy_is_copied_when_none_earns_what_it_did_and_found_again_when_it_does() -> None:
    agent = agent_of(repertory.SANE(episodes=2), 3)
    assert earn(agent, 9, 11, 10, 10) == [0] * 4
    earn(agent, 2, 2)  # far below 10: nobody else is there, so a copy goes on
    assert (len(agent.policies), agent.active) == (2, 1)
    assert np.array_equal(agent.policies[0].policy["values"], agent.policies[1].policy["values"])
    earn(agent, 5, 5, 6, 6)
    assert earn(agent, 1, 1, 10, 10, 10, 10) == [1, 1, Frozen(0), Frozen(0), 0, 0]  # the old times are back
    assert earn(agent, 1, 1, 6, 6, 6) == [0, 0, Frozen(1), Frozen(1), 1]
    assert [event["event"] for event in agent.news()] == ["kept", "activated", "activated"]


def test_a_policy_that_is_left_becomes_what_it_was_before_it_drifted() -> None:
    agent = agent_of(repertory.SANE(episodes=2), 3)
    agent.policies[0].policy["values"][:] = 1.0
    earn(agent, 10, 10)
    agent.policies[0].policy["values"][:] = 2.0  # what it learns while it earns too little
    earn(agent, 2, 2)
    assert [float(policy.policy["values"][0, 0]) for policy in agent.policies] == [1.0, 2.0]
    assert agent.other_bytes == agent.policies[0].nbytes


@pytest.mark.parametrize("size", [0, 10 * 5 * BYTES_A_STEP])
def test_a_large_memory_is_not_copied_at_every_look(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """But once in as many steps as it takes to copy: here 50, which are 10 episodes."""
    monkeypatch.setattr("repertory.agents.sane.memory_of", lambda _policy: size)
    agent = agent_of(repertory.SANE(episodes=2), 3)
    kept = []
    for look in range(10):
        agent.policies[0].policy["values"][:] = look
        earn(agent, 10, 10)
        kept.append(int(agent._anchor.policy["values"][0, 0]))
    assert kept == ([0] * 5 + [5] * 5 if size else list(range(10)))


def test_beyond_the_bound_the_two_most_alike_become_one(rng: np.random.Generator) -> None:
    tables = rng.dirichlet(np.ones(3), size=(5, 7))
    tables[3] = 0.99 * tables[1] + 0.01 * tables[0]
    assert most_alike(tables) == (1, 3)
    agent = agent_of(repertory.SANE(episodes=2), 2)
    for level in (100, 10, 1):
        earn(agent, *[level] * 2)
        earn(agent, *[level / 10] * 2 * len(agent.policies))
    assert len(agent.policies) == 2
    assert "merged" in [event["event"] for event in agent.news()]
    assert agent.active < 2


def test_a_library_that_is_not_told_the_task_keeps_what_one_policy_forgets() -> None:
    """Two tasks that contradict each other, hidden; one policy learns each of them anew whenever it comes."""
    options: dict[str, Any] = {"hidden_tasks": True, "blocks": 30, "block_steps": 500}
    one, sane = (
        repertory.live(TWO_GROUPS, TABLE, policies, agent=agent, **options).blocks
        for policies, agent in ((1, "library"), (4, repertory.SANE()))
    )
    assert sane["mean_return"].iloc[10:].mean() > one["mean_return"].iloc[10:].mean() + 0.1


def test_sane_conforms_with_hidden_tasks_and_without() -> None:
    check_agent(repertory.SANE(episodes=3), FOUR_GROUPS, TABLE, blocks=20, block_steps=200)
    check_agent(repertory.SANE(episodes=3), "cartpole27", QUICK, blocks=10, block_steps=300)


def test_sane_refuses_what_it_cannot_do() -> None:
    class Bare:
        def begin_episode(self) -> None: ...
        def act(self, observation: Any) -> int:
            return 0

        def observe(self, *step: Any) -> None: ...

    with pytest.raises(UsageError, match=r"SANE copies its policies.*Bare.*valid: a learner with state_dict"):
        repertory.live("cartpole27", lambda *_: Bare(), 2, agent="sane", blocks=1, block_steps=10)
    for changes in ({"drift": 0}, {"episodes": 1}):
        with pytest.raises(UsageError, match=f"SANE.{next(iter(changes))} is .*valid"):
            repertory.SANE(**changes)
