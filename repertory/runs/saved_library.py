"""A trained library in a file: its policies, and which of them to use for which task.

    record.save("nine.npz")
    library = repertory.load("nine.npz")
    action = library.policy_for(task=5).predict(observation)

The file holds arrays and JSON, no code: loading a stranger's file runs nothing of theirs. Of the built-in learners it
holds the weights, which are all that acting needs. `record.save("nine.npz", for_training=True)` saves replay memories
and optimisers too, megabytes per policy: if it is trained further without them, a policy first loses much of its skill.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from repertory import catalogue
from repertory.core.tally import favourites
from repertory.errors import UsageError
from repertory.learners.compiled_policy import CompiledPolicy, as_input, restore
from repertory.learners.dqn import DQN
from repertory.learners.protocol import new_learner, turn_to
from repertory.runs.checkpoint import Checkpoint, DamagedCheckpoint, read_checkpoint, write_file
from repertory.runs.formats import checked_settings
from repertory.runs.reading import OtherFormat, Unreadable
from repertory.runs.spec import recorded_component

KIND = "repertory library"


@dataclass(frozen=True)
class Policy:
    """One policy of a library, to act with."""

    number: int
    learner: Any
    observation_space: gymnasium.Space[Any]
    can_train: bool = True
    """Whether it has its replay memory and optimiser; if not, use it to act, not to train it further."""
    task: int | None = None
    """The task to play, for a policy that plays each in its own way; None: whichever it was last told."""

    def predict(self, observation: Any) -> Any:
        """The action that the policy rates highest.

        For a policy that looks back (DRQN, PRPO), `observation` is one observation or the last few in a row, oldest
        first: (steps, features).
        """
        probabilities = self.action_probabilities(observation)
        return int(np.argmax(probabilities))

    def action_probabilities(self, observation: Any) -> NDArray[np.float64]:
        """The probability of each action, as it would explore."""
        if not hasattr(self.learner, "action_probabilities"):
            kind = type(self.learner).__name__
            raise UsageError(f"a {kind} has no action_probabilities to choose by; ask `policy.learner` itself")
        if self.task is not None:
            turn_to(self.learner, self.task)
        row = as_input(self.learner, observation)
        probabilities: NDArray[np.float64] = np.asarray(self.learner.action_probabilities(row[None]))[0]
        return probabilities


class Library:
    """The policies of a lifetime, and which of them plays which task at its end."""

    def __init__(
        self, policies: Sequence[Policy], assignment: NDArray[np.float64], settings: Mapping[str, Any]
    ) -> None:
        self.policies = list(policies)
        self.assignment = assignment
        """(task, policy): the share of the task's last episodes that the policy played; NaN for tasks never met."""
        self.settings = dict(settings)

    @property
    def task_names(self) -> list[str]:
        return list(self.settings["task_names"])

    def policy_for(self, task: int | str) -> Policy:
        """The policy that plays a task, by number or name."""
        number = self._task(task)
        shares = self.assignment[number]
        if np.isnan(shares).any():
            raise UsageError(f"task {number} never came in this library's lifetime; choose one of `policies`")
        return replace(self.policies[int(shares.argmax())], task=number)

    def _task(self, task: int | str) -> int:
        if isinstance(task, str):
            if task not in self.task_names:
                raise UsageError(f"unknown task '{task}'; valid: {', '.join(self.task_names[:5])}, ...")
            return self.task_names.index(task)
        if not 0 <= task < len(self.task_names):
            raise UsageError(f"task {task} does not exist; valid: 0 to {len(self.task_names) - 1}")
        return int(task)

    def table(self) -> pd.DataFrame:
        """A row per task: its name, the policy that plays it (-1: it never came) and its share there."""
        best, shares = favourites(self.assignment), self.assignment.max(axis=1)
        return pd.DataFrame({"task": self.task_names, "policy": best, "share": shares})

    @property
    def can_train(self) -> bool:
        """Whether its policies can be trained further without a loss; see `Policy.can_train`."""
        return all(policy.can_train for policy in self.policies)

    def save(self, path: str | Path, for_training: bool = False) -> None:
        """Write a file that `repertory.load` reads; with `for_training`, memories and optimisers too."""
        if for_training and not self.can_train:
            raise UsageError("this library was loaded without its replay memories; save the record of its run instead")
        arrays = {"assignment": self.assignment}
        for policy in self.policies:
            state = whole_state(policy.learner) if for_training else acting_state(policy.learner)
            arrays |= {f"policy {policy.number}/{name}": array for name, array in state.items()}
        values = {
            "kind": KIND,
            "settings": self.settings,
            "count": len(self.policies),
            "for_training": for_training or not any(_is_built_in(policy.learner) for policy in self.policies),
        }
        try:
            write_file(Path(path), Checkpoint(arrays, values))
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}; choose another path") from None

    def __repr__(self) -> str:
        domain = self.settings["domain"]["name"]
        limits = "" if self.can_train else ", to act with (saved without replay memories and optimisers)"
        return f"Library of {len(self.policies)} policies for {len(self.task_names)} tasks of {domain}{limits}"


def acting_state(learner: Any) -> dict[str, NDArray[Any]]:
    """What a policy needs to act: the weights of a built-in one, all of another."""
    if _is_built_in(learner):
        return {name: np.array(learner.policy[name]) for name in learner.acting_fields}
    return whole_state(learner)


def whole_state(learner: Any) -> dict[str, NDArray[Any]]:
    if not hasattr(learner, "state_dict"):
        raise UsageError(f"a {type(learner).__name__} has no state_dict, so its library cannot be saved")
    return dict(learner.state_dict())


def _is_built_in(learner: Any) -> bool:
    return isinstance(learner, CompiledPolicy)


def load(path: str | Path, domain: Any = None, learner: Any = None) -> Library:
    """A library that `record.save` or `library.save` wrote.

    `domain` and `learner` are needed only where they are not in the catalogue: the user's own, as given to `live`.
    `library.can_train` tells whether its policies have what further training needs.
    """
    file = Path(path)
    content, settings, count = _read(file)
    for part, given in (("domain", domain), ("learner", learner)):
        name = settings[part]["name"]
        if given is None and name not in catalogue.names(f"{part}s"):
            raise UsageError(f"{file} is of the {part} '{name}', which is your own; give it: load(..., {part}=...)")
    made_domain = recorded_component(settings, "domain") if domain is None else domain
    make_learner = recorded_component(settings, "learner") if learner is None else learner
    can_train = bool(content.values.get("for_training"))
    if isinstance(make_learner, DQN) and not can_train:  # a policy that only acts needs no replay memory
        make_learner = make_learner.replace(buffer_size=make_learner.batch_size, protected=0)
    policies = []
    for number in range(count):
        built = new_learner(
            make_learner, made_domain.observation_space, made_domain.action_space, 0, made_domain.n_tasks
        )
        prefix = f"policy {number}/"
        state = {name.removeprefix(prefix): a for name, a in content.arrays.items() if name.startswith(prefix)}
        _restore(built, state, file, can_train)
        policies.append(Policy(number, built, made_domain.observation_space, can_train or not _is_built_in(built)))
    return Library(policies, content.arrays["assignment"], settings)


def _read(file: Path) -> tuple[Checkpoint, dict[str, Any], int]:
    """What a library's file holds, its settings and how many policies there are; all of it checked."""
    try:
        content = read_checkpoint(file)
        if content.values.get("kind") != KIND:
            raise UsageError(f"{file} is not a library; valid: a file that record.save(...) wrote")
        settings = checked_settings(content.values.get("settings"), file)
    except (FileNotFoundError, IsADirectoryError):
        raise UsageError(f"{file} is not a file; valid: one that record.save(...) wrote") from None
    except OtherFormat:
        raise
    except (DamagedCheckpoint, Unreadable) as damage:
        raise UsageError(f"{damage}; valid: a file that record.save(...) wrote") from None
    count, assignment = content.values.get("count"), content.arrays.get("assignment")
    shape = (len(settings["task_names"]), count)
    if type(count) is not int or count < 1 or assignment is None or assignment.shape != shape:
        raise UsageError(
            f"{file} has another number of policies or tasks than it says: it was altered; use another copy"
        )
    return content, settings, count


def _restore(learner: Any, state: dict[str, NDArray[Any]], file: Path, is_whole: bool) -> None:
    if is_whole or not _is_built_in(learner):
        try:
            learner.load_state_dict(state)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise UsageError(
                f"the policies in {file} do not fit this version or the given learner ({error})"
            ) from error
    else:
        try:
            learner.check_limits(state)
            for name in learner.acting_fields:
                restore(learner.arrays.policy[name], state[name][None], name)
        except (ValueError, KeyError):
            raise UsageError(
                f"{file} has policies of another shape than its settings say: it was altered; use another copy"
            ) from None
