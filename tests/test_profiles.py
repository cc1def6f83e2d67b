"""The profiles `text` and `released`: each difference a setting, and the facts behind them."""

from __future__ import annotations

import pytest

import repertory
from repertory import catalogue
from repertory.profiles import RELEASED, differences, with_profile


def test_text_is_the_default_of_every_settings_class() -> None:
    for settings_class in catalogue.all_settings().values():
        assert with_profile(settings_class, "text") == settings_class()


def test_every_difference_is_a_setting_with_another_default() -> None:
    known = {settings_class.__name__: settings_class for settings_class in catalogue.all_settings().values()}
    assert set(RELEASED) <= set(known)
    for name, changes in RELEASED.items():
        released = with_profile(known[name], "released")
        assert {setting for setting, _text, _released in differences(known[name])} == set(changes)
        for setting, text, value in differences(known[name]):
            assert getattr(released, setting) == value != text


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


def test_task_matching_keeps_tasks_apart_and_is_restored_whole() -> None:
    """Each task's memory holds exactly the steps lived in it, and a copy of the state goes on the same."""
    settings = repertory.DQN(memory="task-matching", buffer_size=1000, learning_starts=100)
    domain = repertory.domain("cartpole27")
    from repertory.episode import EpisodePlayer

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
