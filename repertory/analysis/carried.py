"""What a policy would lose if it were carried to another task, estimated from sampled transitions of both.

The corrected corollary (`repertory.paper.transfer`, docs/capacity.md): the regret of a policy on another task is its
regret at home, and what the optimum gains by the change, less what the policy gains. What the policy gains follows from
its own values and from how the tasks differ, step by step. With V its values at home, and a dash for the other task,

    V'(s_0) - V(s_0) = sum_t gamma^t E' [ r'(s_t, a_t) - r(s_t, a_t) + gamma (V(next state') - V(next state)) ]

which is exact: the sum telescopes. The expectation is over the policy's own episodes there. Here it is taken over
states that were met at home, as if every step were like these, and next states and rewards are those of a light model
of each task, Bayesian linear regression on its sampled transitions. So no episode of the policy is played on the other
task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repertory.agents.context_regression import Regressions
from repertory.agents.protocol import Opening
from repertory.core.at_rest import AtRest, play_at_rest
from repertory.core.episode import EpisodePlayer
from repertory.domains.domain import Domain
from repertory.learners.random import Random

GREEDY, RANDOM, LONGEST = 1, 20, 100
"""Episodes of the best policy known and of random play that transitions are sampled from, and steps of each that
count. Where all goes well, values are flat, and a wrong step costs nothing yet; random play sees where it does."""


def can_be_estimated(domain: Domain, policies: Sequence[Any]) -> bool:
    """Whether the policies say what an observation is worth to them, and observations can be regressed on."""
    return Regressions.fits(domain.observation_space, domain.action_space) and all(
        hasattr(policy, "state_values") and hasattr(policy, "action_probabilities") for policy in policies
    )


def sample_transitions(domain: Domain, task: int, policy: Any, seed: int) -> Opening:
    """The first steps of some episodes, of which a policy plays some greedily and random actions the others."""
    player = EpisodePlayer(domain, opening_steps=LONGEST)
    anyhow = Random()(domain.observation_space, domain.action_space, seed)
    openings = []
    try:
        for number in range(GREEDY + RANDOM):
            episode_seed = seed + number
            if number < GREEDY:
                played = play_at_rest(player, task, AtRest(policy, None), episode_seed)
            else:
                played = player.play(task, anyhow, episode_seed)
            assert played.opening is not None
            openings.append([np.copy(field) for field in played.opening])
    finally:
        player.close()
    return Opening(*(np.concatenate(fields) for fields in zip(*openings, strict=True)))


def carried_losses(
    domain: Domain, policies: Sequence[Any], homes: Sequence[int], gamma: float, seen: Sequence[Opening]
) -> NDArray[np.float64]:
    """(policy, task): the share of what a policy is worth at home that it loses on each task, from 0 to 1.

    `seen` are transitions of each task, `homes` the tasks that the policies were trained on, by their place there.
    """
    models = Regressions(len(seen), domain.observation_space, domain.action_space)
    for task, sample in enumerate(seen):
        models.learn(task, models.encode(sample))
    found = np.empty((len(policies), len(seen)))
    for row, (policy, home) in enumerate(zip(policies, homes, strict=True)):
        states = seen[home].observations.astype(np.float32)
        actions = policy.action_probabilities(states).argmax(axis=1) + models.first_action
        worth = np.empty((len(seen), len(states)))
        for task in range(len(seen)):
            after, rewards = models.means(task, states, actions)
            worth[task] = rewards + gamma * policy.state_values(after.astype(np.float32))
        lost = (worth[home] - worth).mean(axis=1) / (1.0 - gamma)
        found[row] = lost / abs(policy.state_values(states).mean())
    return np.clip(found, 0.0, 1.0)
