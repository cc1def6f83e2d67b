"""Rivals of the library: EM task clustering and model-based transfer learning, and the seams that they live by."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
import pytest

import repertory
from repertory.agents.protocol import AgentSetup, Episode, Frozen, Situation
from repertory.core.at_rest import AtRest
from repertory.core.episode import EpisodePlayer
from repertory.core.evaluator import Evaluator
from repertory.core.lifetime import Lifetime
from repertory.domains.domain import Domain
from repertory.errors import EpisodeFault, UsageError
from repertory.runs.spec import run_spec
from repertory.testing import check_agent
from tests.crashing import Crash, CrashAfter

QUICK = repertory.DQN(learning_starts=60, buffer_size=300, net_arch=(8, 8))
RIVALS = {
    "em": repertory.EMClustering(evaluation_episodes=2),
    "em, seldom": repertory.EMClustering(evaluation_episodes=1, every=3),
    "random": repertory.MBTL(choice="random", evaluation_episodes=1),
    "kmeans": repertory.MBTL(choice="kmeans", evaluation_episodes=1),
    "gp": repertory.MBTL(choice="gp", evaluation_episodes=1),
}


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.keys() == other.keys() and all(one[name].tobytes() == other[name].tobytes() for name in one)


# ----------------------------------------------------------------------------------------- policies at rest


@pytest.mark.parametrize("settings", [QUICK, repertory.PPO(n_steps=32, net_arch=(8, 8))], ids=["dqn", "ppo"])
def test_a_policy_at_rest_plays_alike_on_both_paths_and_takes_what_it_rates_highest(settings: Any) -> None:
    domain = repertory.domain("cartpole27")
    policy = settings(domain.observation_space, domain.action_space, 3)
    player, plain = EpisodePlayer(domain), EpisodePlayer(domain, compiled=False)
    for seed in range(10):
        player.play(4, policy, seed)
    before, at_rest = policy.state_dict(), AtRest(policy, 0)
    for seed in range(20):
        task = seed % 27
        assert player.play(task, at_rest, seed) == plain.play(task, at_rest, seed)
    rng = np.random.default_rng(0)
    for observation in rng.normal(size=(200, 4)).astype(np.float32):
        assert at_rest.act(observation) == policy.action_probabilities(observation[None])[0].argmax()
    assert same(policy.state_dict(), before)


@pytest.mark.parametrize(
    ("domain_name", "settings"),
    [
        ("cartpole27", QUICK),
        ("cartpole27", repertory.PPO(n_steps=32, net_arch=(8, 8))),
        ("pocman18", repertory.DRQN(learning_starts=60, buffer_size=300, net_arch=(8, 8), window=3)),
        ("pocman18", repertory.PRPO(n_steps=32, net_arch=(8, 8), window=3)),
        ("cartpole27", repertory.Random()),
    ],
    ids=["dqn", "ppo", "drqn", "prpo", "random"],
)
def test_evaluation_leaves_a_policy_as_it_was(domain_name: str, settings: Any) -> None:
    """Its state to the bit, and what it does afterwards."""
    domain = repertory.domain(domain_name, **({"max_steps": 40} if domain_name == "pocman18" else {}))
    policy, twin = (settings(domain.observation_space, domain.action_space, 3) for _ in range(2))
    player = EpisodePlayer(domain)
    evaluator = Evaluator(domain, seed=0, run=0, window=getattr(settings, "window", 1))
    for seed in range(6):
        before = policy.state_dict()
        first = evaluator(policy, 5, episodes=2)
        assert same(policy.state_dict(), before)
        assert evaluator(policy, 5, episodes=2) == first
        assert player.play(seed, policy, seed) == player.play(seed, twin, seed)
    assert same(policy.state_dict(), twin.state_dict())


# ------------------------------------------------------------------------------------------------ the seams


class Payer(gymnasium.Env):
    """Three steps, each of which pays 1 for the task's own action."""

    observation_space = gymnasium.spaces.Box(0, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self, action: int) -> None:
        self.pays = action

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.left = 3
        return np.zeros(1, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.left -= 1
        return np.zeros(1, np.float32), float(action == self.pays), self.left == 0, False, {}


PAYS = (0, 0, 1, 1, 2, 2)
"""By the task: three groups of two."""
PAYERS = Domain("payers", tuple("abcdef"), lambda task: Payer(PAYS[task]), contexts=np.arange(6.0)[:, None])


class Averages:
    """The average pay of each action, the newest counting most; epsilon-greedy."""

    def __init__(self, seed: int) -> None:
        self.values = np.zeros(3)
        self.learned = np.zeros(1, np.int64)
        self._seed = seed

    def begin_episode(self) -> None: ...

    def act(self, observation: Any) -> int:
        rng = np.random.default_rng((self._seed, int(self.learned[0])))
        return int(rng.integers(3)) if rng.random() < 0.3 else int(self.values.argmax())

    def observe(self, observation: Any, action: int, reward: float, *rest: Any) -> None:
        self.values[action] += 0.05 * (reward - self.values[action])
        self.learned += 1

    def action_probabilities(self, observations: np.ndarray) -> np.ndarray:
        greedy = np.where(np.arange(3) == self.values.argmax(), 0.8, 0.1)
        return np.tile(greedy, (len(observations), 1))

    def state_dict(self) -> dict[str, Any]:
        return {"values": self.values.copy(), "learned": self.learned.copy()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.values, self.learned = state["values"].copy(), state["learned"].copy()


def averages(observation_space: Any, action_space: Any, seed: int) -> Averages:
    return Averages(seed)


def pay(agent: Any, policies: int = 3, **options: Any) -> repertory.Record:
    return repertory.live(PAYERS, averages, policies, agent=agent, **{"blocks": 40, "block_steps": 120, **options})


class Asking:
    """Asks for task 4 every other time, has policy 1 evaluated two times of three, and lets policy 0 play at rest."""

    def __init__(self, setup: AgentSetup) -> None:
        self.setup = setup
        self.policies = [setup.new_policy(number) for number in range(2)]
        self.asked = 0

    def next_task(self, rng: np.random.Generator) -> int | None:
        self.asked += 1
        if episodes := self.asked % 3:
            self.setup.evaluate(self.policies[1], 2, episodes)
        return 4 if self.asked % 2 else None

    def choose(self, situation: Situation, rng: np.random.Generator) -> Frozen:
        return Frozen(0)

    def ended(self, situation: Situation, episode: Episode) -> None:
        assert episode.policy == 0


def test_an_agent_may_ask_for_tasks_evaluate_and_play_without_learning() -> None:
    record, usual = pay(Asking, blocks=9), pay("library", blocks=9)
    assert (record.blocks["task"][::2] == 4).all()
    assert (record.blocks["task"][1::2] == usual.blocks["task"][1::2]).all()
    assert list(record.blocks["evaluation_steps"]) == [3, 6, 0] * 3  # three steps an episode
    assert [policy.learned[0] for policy in record.policies] == [0, 0]
    assert "evaluation_steps" not in usual.blocks
    assert (record.blocks["steps"] == usual.blocks["steps"]).all()


def test_a_task_that_does_not_exist_cannot_be_asked_for() -> None:
    class Beyond(Asking):
        def next_task(self, rng: np.random.Generator) -> int:
            return 6

    with pytest.raises(EpisodeFault, match="asked for task 6 in block 0; valid: 0 to 5, or none"):
        pay(Beyond)


def test_an_agent_cannot_ask_where_tasks_are_hidden() -> None:
    class Curious(Asking):
        def __init__(self, setup: AgentSetup) -> None:
            super().__init__(setup)
            assert (setup.n_tasks, setup.tasks, setup.contexts, setup.evaluate) == (None, (), None, None)

    record = pay(Curious, hidden_tasks=True)
    assert record.agent.asked == 0
    for agent in (repertory.EMClustering(), repertory.MBTL()):
        with pytest.raises(UsageError, match="must know which task it is; valid: without hidden tasks"):
            pay(agent, hidden_tasks=True)


def test_what_cannot_be_evaluated_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    class Silent(Averages):
        action_probabilities = property()

    for agent in (repertory.EMClustering(), repertory.MBTL()):
        with pytest.raises(UsageError, match="a Silent has no action_probabilities to choose actions by"):
            repertory.live(PAYERS, lambda *_: Silent(0), 2, agent=agent, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", RIVALS)
def test_rivals_conform(name: str) -> None:
    check_agent(RIVALS[name], learner=QUICK, policies=4, blocks=8)


@pytest.mark.parametrize("name", RIVALS)
@pytest.mark.parametrize("episodes", [1, 8, 37, 200])
def test_rivals_are_saved_between_any_two_episodes(name: str, episodes: int) -> None:
    spec = run_spec(PAYERS, averages, 3, "epsilon-greedy", blocks=9, block_steps=90, agent=RIVALS[name])

    def end(lifetime: Lifetime) -> pd.DataFrame:
        lifetime.live()
        return lifetime.blocks

    whole, broken, resumed = (spec.lifetime() for _ in range(3))
    with pytest.raises(Crash):
        broken.live([CrashAfter(episodes)])
    arrays, values = broken.state()
    resumed.load_state(arrays, values)
    pd.testing.assert_frame_equal(end(resumed), end(whole), check_exact=True)
    assert same(resumed.agent.state_dict(), whole.agent.state_dict())


def test_a_saved_rival_is_opened_with_its_evaluation_steps(tmp_path: Path) -> None:
    options: dict[str, Any] = {"blocks": 8, "block_steps": 200, "agent": RIVALS["gp"], "out": tmp_path / "gp"}
    record = repertory.live("cartpole27", QUICK, 4, **options)
    opened = repertory.open(tmp_path / "gp")
    assert opened.blocks["evaluation_steps"].sum() > 0
    pd.testing.assert_frame_equal(record.blocks, opened.blocks, check_exact=True)
    pd.testing.assert_frame_equal(record.blocks, pd.read_parquet(tmp_path / "gp" / "blocks.parquet"))


# ------------------------------------------------------------------------------------- EM task clustering


@pytest.mark.parametrize("seed", range(4))
def test_em_gives_tasks_to_their_best_policy(seed: int) -> None:
    """Three groups, three policies: each group has one of its own, which plays all but the evaluations."""
    record = pay(repertory.EMClustering(evaluation_episodes=1), blocks=120, block_steps=60, seed=seed)
    owners = record.agent.policy_of_task
    assert sorted(owners) == [0, 0, 1, 1, 2, 2]
    assert owners[0] == owners[1]
    assert owners[2] == owners[3]
    assert owners[4] == owners[5]
    last = record.blocks.iloc[-1]
    assert last[f"policy_{owners[int(last['task'])]}"] == last["episodes"] - 2


def test_em_evaluates_every_so_many_visits_and_learns_nothing_from_it() -> None:
    played: list[tuple[int, bool]] = []

    def watched(setup: AgentSetup) -> Any:
        agent = repertory.EMClustering(evaluation_episodes=2, every=2)(setup)
        choose = agent.choose

        def noted(situation: Situation, rng: np.random.Generator) -> int | Frozen:
            choice = choose(situation, rng)
            played.append((choice.policy if isinstance(choice, Frozen) else choice, isinstance(choice, Frozen)))
            return choice

        agent.choose = noted
        return agent

    # One task is one visit, however many blocks.
    record = pay(watched, policies=2, blocks=5, task=2)
    assert [policy for policy, is_frozen in played if is_frozen] == [0, 0, 1, 1]
    assert all(is_frozen for _policy, is_frozen in played[:4])
    steps = 3 * np.bincount([policy for policy, is_frozen in played if not is_frozen], minlength=2)
    assert [int(policy.learned[0]) for policy in record.policies] == list(steps)
    assert (steps > 0).all()  # the one that is best on no task plays as well
    assert record.blocks["episodes"].sum() == len(played)
    played.clear()
    record = pay(watched, policies=2, blocks=60, task=[0, 3])
    visits = np.flatnonzero(np.diff(record.blocks["task"], prepend=-1))
    of_task = record.blocks["task"].to_numpy()[visits]
    evaluations = sum(-(-int((of_task == task).sum()) // 2) for task in (0, 3))
    assert sum(is_frozen for _policy, is_frozen in played) == 2 * 2 * evaluations


def test_an_evaluation_cut_short_goes_on_when_the_task_comes_again() -> None:
    agent = repertory.EMClustering(evaluation_episodes=2)
    record = pay(agent, policies=3, blocks=12, block_steps=12, task=[0, 3])  # four episodes a block, six to evaluate
    assert (record.agent.policy_of_task[[0, 3]] >= 0).all()
    assert sum(int(policy.learned[0]) for policy in record.policies) > 0


# ------------------------------------------------------------------------- model-based transfer learning


@pytest.mark.parametrize("choice", ["random", "kmeans", "gp"])
def test_mbtl_trains_each_policy_on_one_task_and_then_the_best_plays(choice: str) -> None:
    settings = repertory.MBTL(choice=choice, evaluation_episodes=2, training_share=0.75)
    record = pay(settings, policies=3, blocks=40)
    training, rest = record.blocks[:30], record.blocks[30:]
    assert list(training["task"]) == [task for task in record.agent.sources for _ in range(10)]
    assert len(set(record.agent.sources)) == 3
    for number in range(3):
        own = training[10 * number : 10 * number + 10]
        assert (own[f"policy_{number}"] == own["episodes"]).all()
        assert record.policies[number].learned[0] == own["steps"].sum()  # and nothing later
    nature = repertory.live(PAYERS, averages, 3, blocks=40, block_steps=120).blocks["task"]
    assert list(rest["task"]) == list(nature[30:])
    covered = {PAYS[task] for task in record.agent.sources}
    assert list(rest["mean_return"]) == [3.0 if PAYS[task] in covered else 0.0 for task in rest["task"]]
    assert record.blocks["evaluation_steps"].sum() == 3 * 6 * 2 * 3  # policies, tasks, episodes, steps


def test_a_life_of_some_tasks_has_its_sources_among_them() -> None:
    record = pay(repertory.MBTL(choice="kmeans"), policies=2, task=[5, 1, 3])
    assert set(record.agent.sources) <= {1, 3, 5}
    assert set(record.blocks["task"]) <= {1, 3, 5}


@pytest.mark.parametrize(
    ("agent", "options", "message"),
    [
        (repertory.MBTL(), {"policies": 7}, "7 policies, 36 blocks .* and 6 tasks; valid: at most 6 policies"),
        (repertory.MBTL(training_share=0.1), {"policies": 5}, "4 blocks to train in .*; valid: at most 4 policies"),
    ],
)
def test_policies_without_a_task_or_a_block_of_their_own(agent: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        pay(agent, **options)


def test_contexts_are_needed_to_go_by_them() -> None:
    options: dict[str, Any] = {"policies": 2, "blocks": 4, "block_steps": 50}
    for choice in ("kmeans", "gp"):
        with pytest.raises(UsageError, match=rf"choice is '{choice}', which goes by contexts.*valid: 'random'"):
            repertory.live("pocman18", "random", agent=repertory.MBTL(choice=choice), **options)
    with pytest.raises(UsageError, match=r"contexts of payers have the shape \(5, 1\).* of the 6 tasks"):
        Domain("payers", PAYERS.task_names, PAYERS.make_env, contexts=np.zeros((5, 1)))


def test_an_unknown_choice_is_refused() -> None:
    with pytest.raises(UsageError, match=r"MBTL\.choice is 'best'; valid: 'random' or 'kmeans' or 'gp'"):
        repertory.MBTL(choice="best")
