"""The profiles `text` and `released`: each difference a setting, and the facts behind them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import repertory
from repertory import catalogue
from repertory.profiles import RELEASED, RELEASED_ON, check_profile, differences, full_name, with_profile
from repertory.runs.spec import RunSpec, run_spec
from repertory.settings import Settings, setting

PINNED = {
    # What the paper's text says, what the authors' code does.
    ("CartpoleRules", "force"): (1.0, 10.0),
    ("CartpoleRules", "angle_limit"): (15.0, 12.0),
    ("CartpoleRules", "failure_reward"): (0.0, 1.0),
    ("CartpoleRules", "max_steps"): (200, 201),
    ("CartpoleRules", "total_mass"): (None, 1.1),
    ("CartpoleRules", "pole_moment"): (None, 0.05),
    ("DQN", "exploration_rate"): (0.2, 0.1),
    ("DQN", "random_first_steps"): (0, 2),
    ("DQN", "sampling"): ("experiences", "episodes"),
    ("DQN", "memory"): ("fifo", "finished-episodes"),
    ("DQN", "timeout_bootstraps"): (True, False),
    ("DRQN", "random_first_steps"): (15, 16),
    ("DRQN", "exploration_rate"): (0.2, 0.2),
    ("PPO", "random_first_steps"): (0, 1),
    ("PPO", "max_grad_norm"): (1.0, None),
    ("PPO", "ratio"): ("own", "pairwise"),
    ("PPO", "delta"): ("discounted", "undiscounted"),
    ("PPO", "minibatches"): ("shuffled", "consecutive"),
    ("PPO", "timeout_bootstraps"): (True, False),
    ("PRPO", "random_first_steps"): (15, 15),
    ("PRPO", "timeout_bootstraps"): (True, True),
    ("PRPO", "ratio"): ("own", "pairwise"),
    ("EpsilonGreedy", "average"): ("per step", "per policy episode"),
    ("UCB1Tuned", "statistics"): ("per pair", "policy mean"),
    ("UCB1Tuned", "initial_value"): (None, 1.0),
    ("PocmanRules", "reaction_range"): (None, 3),
    ("PocmanRules", "static_adjacency"): ("adjacent", "always on"),
}


@pytest.mark.parametrize(("settings_class", "setting"), PINNED)
def test_values_of_both_profiles(settings_class: str, setting: str) -> None:
    known = {each.__name__: each for each in catalogue.all_settings().values()}
    values = tuple(getattr(with_profile(known[settings_class], profile), setting) for profile in ("text", "released"))
    assert values == PINNED[settings_class, setting]


def test_every_difference_names_a_setting_and_differs() -> None:
    known = {full_name(each): each for each in catalogue.all_settings().values()}
    assert set(RELEASED) <= set(known)
    assert set().union(*RELEASED_ON.values()) <= set(known)
    for name in RELEASED:
        for _setting, text, released in differences(known[name]):
            assert released != text


@pytest.mark.parametrize("name", sorted(RELEASED))
def test_another_class_of_the_same_name_is_left_as_it_is(name: str) -> None:
    """Somebody's own learner may be called DQN, with or without the settings that ours has."""
    released = RELEASED[name]

    @dataclass(frozen=True, kw_only=True)
    class Own(Settings):
        speed: float = setting(1.0, "Metres a second.")

    fields = {field: setting("own", "Another meaning.") for field in released}
    hints = dict.fromkeys(released, str)
    alike = dataclass(frozen=True, kw_only=True)(
        type(name.rpartition(".")[2], (Settings,), {"__annotations__": hints, **fields})
    )
    Own.__name__ = Own.__qualname__ = alike.__name__
    for other in (Own, alike):
        assert with_profile(other, "released", "pocman18") == other()
        assert differences(other) == []


def test_the_released_average_is_cartpoles_alone() -> None:
    for domain, average in (("cartpole27", "per policy episode"), ("pocman18", "per step")):
        record = repertory.live(domain, "ppo", 2, blocks=1, block_steps=10, profile="released")
        assert record.settings["selector"]["average"] == average


def test_single_settings_can_be_overridden_on_top() -> None:
    settings = catalogue.learner("dqn", "released", exploration_rate=0.3)
    assert (settings.exploration_rate, settings.random_first_steps) == (0.3, 2)
    domain = repertory.domain("cartpole27", profile="released", force=5.0)
    assert (domain.settings["force"], domain.settings["angle_limit"]) == (5.0, 12.0)


PAIRS = [("cartpole27", "dqn"), ("cartpole27", "ppo"), ("pocman18", "drqn"), ("pocman18", "prpo")]


@pytest.mark.parametrize(("domain", "learner"), PAIRS)
@pytest.mark.parametrize("profile", ["text", "released"])
@pytest.mark.parametrize("selector", ["epsilon-greedy", "ucb1-tuned", "fixed-partition"])
def test_everything_runs_under_both(domain: str, learner: str, profile: str, selector: str) -> None:
    record = repertory.live(domain, learner, 3, selector, blocks=3, block_steps=300, profile=profile)
    assert record.settings["profile"] == profile
    assert (record.blocks["steps"] >= 300).all()


def test_task_matching_waits_for_experiences_of_the_current_task() -> None:
    """A new task's memory waits anew, however long the policy has lived; a known one's is replayed at once."""
    settings = repertory.DQN(memory="task-matching", buffer_size=1000, learning_starts=100, train_freq=1)
    space, actions = repertory.domain("cartpole27").observation_space, repertory.domain("cartpole27").action_space
    learner = settings(space, actions, 1)
    here = np.zeros(4, np.float32)

    def updates_after(task: int, steps: int) -> int:
        before = int(learner.policy["updates"])
        learner.begin_task(task)
        learner.begin_episode()
        for _ in range(steps):
            learner.observe(here, 0, 1.0, here, False, False)
        learner.observe(here, 0, 1.0, here, True, False)
        return int(learner.policy["updates"]) - before

    assert updates_after(0, 149) == 51  # steps 100 to 150
    assert updates_after(7, 98) == 0
    assert updates_after(0, 9) == 10
    assert updates_after(7, 9) == 10  # its 100th experience and nine more
    small = settings.replace(buffer_size=60)(space, actions, 1)
    assert small.policy["least_held"] == 30


def test_task_matching_keeps_tasks_apart_and_is_restored_whole() -> None:
    """Each task's memory holds exactly the steps lived in it, and a copy of the state goes on the same."""
    settings = repertory.DQN(memory="task-matching", buffer_size=1000, learning_starts=100)
    domain = repertory.domain("cartpole27")
    from repertory.core.episode import EpisodePlayer

    player = EpisodePlayer(domain)
    learner, twin = (settings(domain.observation_space, domain.action_space, seed) for seed in (1, 2))
    steps = dict.fromkeys((4, 9, 20), 0)
    for seed in range(30):
        task = (4, 9, 20)[seed % 3]
        steps[task] += player.play(task, learner, seed).steps
    for task, lived in steps.items():
        learner.begin_task(task)
        assert learner.policy["cursor"][3] == min(lived, 1000)
    twin.load_state_dict(learner.state_dict())
    for seed in range(30, 60):
        task = (4, 9, 20, 25)[seed % 4]
        assert player.play(task, learner, seed) == player.play(task, twin, seed)


def test_a_component_can_be_read_under_a_profile_of_its_own() -> None:
    mixed = run_spec("cartpole27", "dqn", 1, "epsilon-greedy", blocks=1, profile="released,learner=text")
    assert mixed.domain.settings == catalogue.domain("cartpole27", "released").settings
    assert mixed.learner == repertory.DQN()
    assert mixed.selector == with_profile(repertory.EpsilonGreedy, "released", "cartpole27")
    assert RunSpec.from_json(mixed.to_json()).to_json() == mixed.to_json()


@pytest.mark.parametrize(
    ("given", "means"),
    [
        ("released", "released"),
        ("learner=sound", "text,learner=sound"),
        ("released, learner=sound", "released,learner=sound"),
        ("released,learner=released", "released"),
        ("released,selector=sound,learner=sound,selector=text", "released,learner=sound,selector=text"),
    ],
)
def test_profiles_have_one_spelling(given: str, means: str) -> None:
    assert check_profile(given) == means
    assert check_profile(means) == means


@pytest.mark.parametrize("given", ["", "txt", "text,sound", "text,lerner=sound", "text,learner=", None, 3, "a=b=c"])
def test_what_is_not_a_profile_is_refused(given: object) -> None:
    with pytest.raises(repertory.errors.UsageError, match="Valid"):
        check_profile(given)
