"""The paper's experiments as data: what is there is what the paper has, and every condition can be lived."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from repertory import catalogue
from repertory.cli import reproduce
from repertory.errors import UsageError
from repertory.paper.experiments import experiment, experiment_names, experiments_named, read_experiment
from repertory.sweeps.sweep import Sweep, claim, parse_runs, read_sweep

CONDITIONS = {
    "cartpole27": 20,
    "cartpole125": 12,
    "pocman18": 16,
    "ucb": 8,
    "replay": 5,
    "ppo-long-blocks": 3,
    "ppo-unbounded": 3,
    "learning-rate-cartpole": 10,
    "learning-rate-pocman": 10,
}


def test_all_experiments_of_the_paper_are_there() -> None:
    assert {name: len(experiment(name).conditions) for name in experiment_names(("published",))} == CONDITIONS


@pytest.mark.parametrize("name", ["cartpole27", "cartpole125", "pocman18", "ppo-long-blocks", "ppo-unbounded"])
def test_names_say_what_conditions_are(name: str) -> None:
    for condition in experiment(name).conditions.values():
        adaptive, learner, policies = re.fullmatch(r"(Una|A)daptive([A-Z]+)(\d+)P", condition.name).groups()
        assert condition.learner == learner.lower()
        assert condition.policies == int(policies)
        assert condition.selector == ("epsilon-greedy" if adaptive == "A" else "fixed-partition")


@pytest.mark.parametrize("profile", ["text", "released"])
@pytest.mark.parametrize("name", CONDITIONS)
def test_every_condition_can_be_planned(name: str, profile: str, tmp_path) -> None:
    sweep = Sweep(name, profile)
    for condition in sweep.data.conditions.values():
        spec = sweep.job(tmp_path, condition, run=1).run_spec()
        assert (spec.blocks, spec.block_steps) == (sweep.data.blocks, sweep.data.block_steps)
        assert spec.policies == condition.policies
        assert spec.task == (1 if name.startswith("learning-rate") else None)
        settings = spec.to_json()["learner"]
        assert condition.settings.get("learner", {}).items() <= settings.items()


OURS = sorted(set(experiment_names()) - set(CONDITIONS))


@pytest.mark.parametrize("profile", ["text", "released"])
@pytest.mark.parametrize("name", OURS)
def test_experiments_beyond_the_paper_can_be_planned_under_every_profile(name, profile, tmp_path) -> None:
    assert "sound-search" in OURS
    sweep = Sweep(name, profile)
    for condition in sweep.data.conditions.values():
        if condition.learner.startswith("sb3:"):
            pytest.importorskip("stable_baselines3")
            pytest.importorskip("Box2D")
        spec = sweep.job(tmp_path, condition, run=0).run_spec()
        own = condition.settings.get("domain", {})
        expected = catalogue.domain(sweep.data.domain, profile, **own)
        assert spec.domain.settings == expected.settings  # learners alone have other profiles


def test_experiments_go_by_the_first_word_of_their_names(tmp_path, monkeypatch) -> None:
    assert experiments_named("ucb") == ("ucb",)
    assert experiments_named("sound") == ("sound",)  # though there is a `sound-search`
    assert experiments_named("rivals") == ("rivals-cartpole27", "rivals-cartpole54", "rivals-pocman18")
    assert experiments_named("no such") == ("no such",)
    ran = []

    def note(console, name, **options) -> bool:
        ran.append((name, options["out"], options["profile"], options["runs"]))
        return name != "rivals-cartpole27"

    monkeypatch.setattr(reproduce, "reproduce_in_console", note)
    given = {"console": None, "profile": "text", "runs": "0"}
    assert not reproduce.reproduce_all_in_console(name="rivals", out=tmp_path, **given)  # one was stopped
    assert ran == [(name, tmp_path / f"{name}-text", "text", "0") for name in experiments_named("rivals")]
    assert reproduce.reproduce_all_in_console(name="ucb", out=tmp_path, **given)
    assert ran[-1] == ("ucb", tmp_path, "text", "0")


def test_steps_of_the_paper() -> None:
    steps = {name: experiment(name).blocks * experiment(name).block_steps for name in experiment_names()}
    assert steps["cartpole27"] == 40_500_000
    assert steps["pocman18"] == 90_000_000
    assert steps["learning-rate-cartpole"] == 1_500_000
    assert steps["learning-rate-pocman"] == 5_000_000


def test_published_values_are_the_papers() -> None:
    """The two sentences of the paper's text that repeat its tables."""
    pocman = experiment("pocman18").conditions
    ratio = pocman["UnadaptiveDRQN18P"].lifetime.mean / pocman["UnadaptiveDRQN1P"].lifetime.mean
    assert 19 < ratio < 20  # "a factor ranging between 3 ... and 20"
    cartpole = experiment("cartpole27").conditions
    best = [cartpole[f"UnadaptiveDQN{n}P"] for n in (14, 27)]
    assert all(145 < c.lifetime.mean < 160 and 170 <= c.final.mean <= 180 for c in best)  # "around 150 ... 170--180"


def test_scale_multiplies_steps_only(tmp_path) -> None:
    sweep = Sweep("cartpole27", scale=0.1, blocks=7)
    spec = sweep.job(tmp_path, sweep.data.conditions["AdaptiveDQN9P"], 0).run_spec()
    whole = Sweep("cartpole27")
    full = whole.job(tmp_path, whole.data.conditions["AdaptiveDQN9P"], 0).run_spec()
    assert (spec.block_steps, spec.blocks) == (6_000, 7)
    assert spec.learner == full.learner


def test_selection_of_conditions_and_runs() -> None:
    data = experiment("cartpole27")
    assert [c.name for c in data.select(["AdaptiveDQN9P"])] == ["AdaptiveDQN9P"]
    assert len(data.select(["Unadaptive*"])) == 12
    assert len(data.select([])) == 20
    with pytest.raises(UsageError, match="did you mean 'AdaptiveDQN9P'"):
        data.select(["AdaptiveDQN9"])
    assert parse_runs("0-3,7") == [0, 1, 2, 3, 7]
    for bad in ("", "a", "3-", "-3", "5-2", "0,7-5"):
        with pytest.raises(UsageError, match="--runs"):
            parse_runs(bad)


def test_an_experiment_file_with_a_slip_is_refused() -> None:
    content = {"title": "t", "domain": "cartpole27", "runs": 1, "blocks": 1, "block_steps": 1}
    condition = {"learner": "dqn", "policies": 1, "selector": "one-to-one"}
    with pytest.raises(UsageError, match="did you mean 'policies'"):
        read_experiment("x", content | {"conditions": {"a": condition | {"polices": 2}}})
    comparison = {"conditions": ["a", "b"], "score": "lifetime", "p": 0.5}
    with pytest.raises(UsageError, match="compares b"):
        read_experiment("x", content | {"conditions": {"a": condition}, "comparisons": [comparison]})


def test_a_sequence_that_is_asked_for_wins_over_the_experiment_s(tmp_path: Path) -> None:
    def sequence(sweep: Sweep) -> str:
        (condition, *_) = sweep.data.conditions.values()
        return str(sweep.job(tmp_path, condition, 0).spec["sequence"])

    assert sequence(Sweep.of("office-rooms")) == "rounds"
    assert sequence(Sweep.of("office-rooms", sequence="seed")) == "seed"
    claim(tmp_path / "new", Sweep.of("office-rooms", sequence="seed"))
    assert sequence(read_sweep(tmp_path / "new")) == "seed"
    old = json.loads((tmp_path / "new" / "sweep.json").read_text()) | {"format": 2}  # wrote "seed" if nothing was asked
    (tmp_path / "new" / "sweep.json").write_text(json.dumps(old))
    assert sequence(read_sweep(tmp_path / "new")) == "rounds"
