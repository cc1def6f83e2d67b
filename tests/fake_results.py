"""Hand-made results of the paper's experiments, to judge claims by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from repertory.paper.experiments import Condition, experiment
from repertory.report.claims import (
    Verdict,
    gather,
    judge_claim,
    read_claim,
)
from repertory.sweeps.results import Results, Run
from repertory.sweeps.sweep import Sweep

N_TASKS = {"cartpole27": 27, "cartpole125": 125, "pocman18": 18}
STEPS = 100


WITHIN = {"kind": "within", "experiment": "cartpole27", "conditions": ["AdaptiveDQN9P"], "quantity": "lifetime score"}


def fake_run(
    name: str, condition: Condition, number: int, scores: Sequence[float], tasks: Sequence[int] | None = None
) -> Run:
    """A finished run whose blocks have these scores."""
    domain = experiment(name).domain
    returns = np.asarray(scores, float)
    blocks = pd.DataFrame(
        {
            "block": range(len(returns)),
            "task": np.zeros(len(returns), int) if tasks is None else tasks,
            "steps": STEPS,
            "total_reward": returns * STEPS,
            "mean_return": returns,
            "last_return": returns,
        }
    )
    settings = {
        "run": number,
        "score": "reward per step" if domain == "pocman18" else "mean return",
        "learner": {"name": condition.learner},
        "selector": {"name": condition.selector},
        "policies": condition.policies,
        "task_names": [str(task) for task in range(N_TASKS[domain])],
    }
    return Run(condition.name, Path("nowhere"), settings, blocks, is_done=True)


def fake_results(
    name: str, scores: Mapping[str, Sequence[Sequence[float]]], profile: str = "released", **sweep: Any
) -> Results:
    """A sweep with a run for each list of block scores, by condition."""
    conditions = experiment(name).conditions
    runs = [
        fake_run(name, conditions[condition], number, blocks)
        for condition, lives in scores.items()
        for number, blocks in enumerate(lives)
    ]
    return Results(Path("results") / f"{name}-{profile}", tuple(runs), Sweep(name, profile, **sweep))


def flat(*levels: float) -> list[list[float]]:
    """A life of twenty blocks at each level."""
    return [[level] * 20 for level in levels]


def sure(*levels: float) -> list[list[float]]:
    """As many lives at each level as make their own spread count, which is none."""
    return flat(*levels * (6 // len(levels)))


def verdict_on(test: Mapping[str, Any], *results: Results) -> Verdict:
    made = read_claim("made-up", {"claim": "", "where": "", "reason": "", "test": test})
    return judge_claim(made, next(iter(gather(results).values())))
