"""How many policies to buy, from the cheapest evidence that decides.

    advice = repertory.recommend_policies("cartpole54", "dqn", profile="released,learner=sound")
    print(advice)

The answer is the least number of policies with which the tasks, grouped well, lose no more than the tolerance, on
average, against the best policy known for each. It is found from the small end:

1. A few tasks are each learned alone, until the policy levels off: what can be had, and how long it takes. If the
   budget is too small for that, but one policy for all comes as far as one alone on a task, one is the answer for now.
2. One policy learns all of them. If it serves them, or one of the policies trained alone does, the answer is 1.
3. If not, is it the learner? A policy alone on one task is given as many updates (the control). If it falls as well,
   more policies would only hide that.
4. If not, tasks may be in conflict: every policy has been played on every task, and those that do well under the same
   one form groups. A task that all serve poorly is learned alone, and the tasks are grouped anew.
5. Two tasks of the two groups that are most alike are learned by one policy. If it learns both, no further policy is
   needed, only training. If not, a policy is trained for each group; and so on with one more policy, until the tasks
   are served or the budget is spent.
6. The control goes on, up to half of the budget: does a policy stay sound for as many updates as the planned life
   gives to each of so many? If its values pass what is possible, that is told in place of a number.
7. Beside what each policy loses, what theory makes of sampled transitions (`repertory.analysis.carried`).

All scores are greedy, on the same episodes, and means over several looks; losses are shares of what learning gains over
random play.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from repertory.analysis.advice import Advice, advice_of
from repertory.analysis.capacity import check_tolerance
from repertory.analysis.carried import can_be_estimated, carried_losses, sample_transitions
from repertory.analysis.policy_memory import check_memory, parse_memory, policy_memory
from repertory.analysis.probe import Budget, Spent
from repertory.analysis.search import Search
from repertory.domains.domain import Domain
from repertory.errors import UsageError
from repertory.learners.protocol import MakeLearner
from repertory.runs.spec import run_spec


def recommend_policies(
    domain: Domain | str,
    learner: MakeLearner | str,
    tolerance: float = 0.05,
    *,
    memory: int | str | None = None,
    blocks: int | None = None,
    block_steps: int | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    profile: str = "text",
    out: str | Path | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Advice:
    """The least number of policies that loses at most `tolerance`, which tasks go together, and what that rests on.

    `blocks` and `block_steps` are the planned life, which is not run: it says how many updates each policy will have.
    At most `steps` steps are used, as many as in one planned life if not given, and at most `seconds`. `memory` is the
    most that the library may take, in bytes or as `"200MB"`. With `out`, what was trained is saved there, and the same
    call goes on where it was interrupted, or with a larger budget. `progress` hears what is being done and the share
    of the budget that is used.
    """
    check_tolerance(tolerance)
    memory = parse_memory(memory) if isinstance(memory, str) else memory
    if (steps is not None and steps < 1) or (seconds is not None and not seconds > 0):
        raise UsageError(f"the budget is {steps} steps and {seconds} seconds; valid: above 0")
    planned = run_spec(
        domain, learner, 1, "fixed-partition", blocks=blocks, block_steps=block_steps, seed=seed, profile=profile
    )
    policy_bytes = policy_memory(planned)
    if policy_bytes is None:
        raise UsageError("this learner has no state_dict, so its training cannot be interrupted and looked at")
    check_memory(memory, policy_bytes, 1)
    life = planned.blocks * planned.block_steps
    budget = Budget(life if steps is None else steps, seconds)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()) if out is None else out)
        search = Search(planned, tolerance, budget, folder, progress or (lambda doing, used: None))
        search.run()
        return advice_of(search, policy_bytes, memory, _estimated_losses(search))


def _estimated_losses(search: Search) -> NDArray[np.float64] | None:
    """(policy alone on a task, task): what theory says that it loses there; None of learners that have no values."""
    policies = [probe.policy for probe in search.alone.values() if probe.looks]
    domain, seed = search.planned.domain, search.planned.seed
    if search.planned.window > 1 or not policies or not can_be_estimated(domain, policies):
        return None
    scores = search.regrets(search.probes)
    best = [search.probes[row].policy for row in scores.argmin(axis=0)]
    seen = [sample_transitions(domain, task, own, seed) for task, own in zip(search.tasks, best, strict=True)]
    search.budget.spent.add(Spent(sum(len(sample.rewards) for sample in seen)))
    homes = [place for place, probe in search.alone.items() if probe.looks]
    return carried_losses(domain, policies, homes, policies[0].settings.gamma, seen)
