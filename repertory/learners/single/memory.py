"""What a policy for many tasks holds besides what any policy of its kind does, and what its steps do with it.

Fields of what is switched off have a length of 1: they cost nothing, and kernels are the same for all settings.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.kernels import network
from repertory.kernels.compile import inlined, kernel
from repertory.kernels.layout import Field
from repertory.kernels.network import NetworkShape
from repertory.kernels.optimisers import mask, pull, shrink_and_perturb
from repertory.kernels.streams import below
from repertory.learners.single.settings import SinglePolicy


class Plan(NamedTuple):
    """What decides the network and the memory of a policy for many tasks."""

    settings: SinglePolicy
    tasks: int
    core: NetworkShape
    """That of a network for a single task, in which its batches are."""
    parts: tuple[int, ...]
    """Widths of the layers that stand side by side in its output: of an actor and a critic, say."""

    @property
    def shape(self) -> NetworkShape:
        """Of the weights: with the inputs and the outputs for all tasks."""
        told = self.tasks if self.settings.task_input else 0
        return self.core._replace(inputs=self.core.inputs + told, outputs=self.core.outputs * self.heads)

    @property
    def heads(self) -> int:
        return self.tasks if self.settings.heads else 1

    def new_weights(self, rng: np.random.Generator) -> NDArray[np.float32]:
        return network.glorot_uniform(self.shape, rng, heads=self.parts * self.heads)

    def uses(self, task: int) -> NDArray[np.bool_]:
        """Whether each weight is used to play a task: not the inputs and outputs of others."""
        used = np.ones(network.count_weights(self.shape), np.float32)
        w1, _b1, _w2, _b2, w3, b3 = network.matrices(used, self.shape)
        inputs, outputs, head = self.core.inputs, self.core.outputs, task if self.settings.heads else 0
        w1[inputs:] = np.arange(len(w1) - inputs)[:, None] == task
        w3[:] = (np.arange(len(w3)) // outputs == head)[:, None]
        b3[:] = np.arange(len(b3)) // outputs == head
        return used.astype(np.bool_)

    @property
    def samples(self) -> int:
        """Observations that are kept of a visit."""
        return self.settings.visit_sample if self.settings.ewc > 0 or self.settings.clone > 0 else 1


ANCHOR = ("stiffness", "centre", "anchored", "initial", "importance", "left_at")
PACKING = ("trainable", "whole", "owner", "rank", "phase")
CLONES = ("clone_observations", "clone_outputs", "clone_counts", "clone_order", "clone_tasks")
VISIT = ("learned_task", "visit", "visited", "visit_began", "visit_updates", "shrinks")
STATE = (*ANCHOR, *PACKING, *CLONES, *VISIT)
"""The fields that decide the policy's future."""


def fields_of(plan: Plan) -> list[Field]:
    """The fields by name:

    - `task`, for which it acts, and `learned_task`, whose visit it is: the same, but while somebody looks;
    - `visit`, a uniform sample of the `visited` observations of this visit, before which there had been `visit_began`
      steps and `visit_updates` updates;
    - `stiffness` and `centre` of the pull on each weight, from what matters to tasks (`importance`), where they
      were left (`left_at`), and the `initial` weights;
    - of PackNet, which weights are `trainable` now, the `whole` vector of which `weights` shows a part, and the
      `owner` of each weight by `rank`, the place of each task among those packed, and the `phase` of each task;
    - of clones, observations and outputs of each task, how many, and `clone_order`, the tasks now to be cloned.

    They come before the learner's own: Numba would take records that merely go on further for the plain learner's.
    """
    settings, tasks, core = plan.settings, plan.tasks, plan.core
    weights = network.count_weights(plan.shape)

    def if_(is_on: bool, *shape: int) -> tuple[int, ...]:
        return shape if is_on else (1,) * len(shape)

    is_anchored, packs, clones = (
        settings.ewc > 0 or settings.l2_init > 0,
        settings.packnet is not None,
        settings.clone > 0,
    )
    kept = if_(settings.ewc > 0, tasks if settings.ewc_decay is None else 1, weights)
    counts = ("task", "learned_task", "visited", "visit_began", "visit_updates", "shrinks", "clone_tasks")
    whole = ("features", "outputs", "clone_batch", "perturb_every")
    return [
        *((name, np.float32, if_(is_anchored, weights)) for name in ("stiffness", "centre")),
        ("initial", np.float32, if_(settings.l2_init > 0, weights)),
        *((name, np.float32, kept) for name in ("importance", "left_at")),
        *((name, np.float32, if_(packs, weights)) for name in ("trainable", "whole")),
        ("owner", np.int64, if_(packs, weights)),
        *((name, np.int64, if_(packs, tasks)) for name in ("rank", "phase")),
        ("limits", np.float32, if_(settings.shrink_every is not None, weights)),
        ("visit", np.float32, (plan.samples, core.inputs)),
        ("clone_observations", np.float32, if_(clones, tasks, plan.samples, core.inputs)),
        ("clone_outputs", np.float32, if_(clones, tasks, plan.samples, core.outputs)),
        *((name, np.int64, if_(clones, tasks)) for name in ("clone_counts", "clone_order")),
        *((name, np.int64, ()) for name in (*counts, *whole)),
        *((name, np.float32, ()) for name in ("clone", "shrink")),
        *((name, np.bool_, ()) for name in ("anchored", "packs")),
    ]


def scratch_fields_of(plan: Plan, batch_size: int) -> list[Field]:
    rows = plan.settings.clone_batch if plan.settings.clone > 0 else 1
    weights = network.count_weights(plan.shape) if plan.settings.clone > 0 else 1
    return [
        ("tasks", np.int64, (batch_size,)),
        ("clone_room", np.float32, (network.count_activations(plan.core, rows),)),
        ("clone_gradient", np.float32, (weights,)),
        *((name, np.int64, (rows,)) for name in ("clone_of", "clone_places")),
    ]


def fill(policy: Any, plan: Plan) -> None:
    """The fields of a new policy that do not begin at 0 and are no settings by the same name."""
    policy["features"], policy["outputs"] = plan.core.inputs, plan.core.outputs
    policy["perturb_every"] = plan.settings.shrink_every or 0
    policy["packs"] = plan.settings.packnet is not None
    if plan.settings.l2_init > 0:
        policy["initial"] = policy["weights"]
    if plan.settings.shrink_every is not None:
        policy["limits"] = network.glorot_limits(plan.shape, plan.parts * plan.heads)


@inlined
def core_of(policy: Any) -> NetworkShape:
    """The shape of its batches."""
    return NetworkShape(policy.features, policy.shape[1], policy.shape[2], policy.outputs)


@inlined
def note_visit(policy: Any, observation: NDArray[np.float32]) -> None:
    """Every observation of a visit is as likely as any other to be in the sample (reservoir sampling)."""
    room = policy.visit.shape[0]
    place = policy.visited
    if place >= room:
        place = below(policy.stream, policy.visited + 1)
    if place < room:
        for k in range(observation.size):
            policy.visit[place, k] = observation[k]
    policy.visited += 1


@kernel
def hold(policy: Any, gradient: NDArray[np.float32]) -> None:
    """Add to a loss's gradient the pull on the weights, or take out what is not to be trained."""
    if policy.anchored:
        pull(gradient, policy.weights, policy.centre, policy.stiffness)
    if policy.packs:
        mask(gradient, policy.trainable)


@inlined
def perturb_if_due(policy: Any) -> None:
    """Shrink and perturb the network once for every `perturb_every` steps."""
    if policy.perturb_every > 0 and policy.life // policy.perturb_every > policy.shrinks:
        policy.shrinks = policy.life // policy.perturb_every
        shrink_and_perturb(policy.weights, policy.limits, policy.shrink, policy.stream)
