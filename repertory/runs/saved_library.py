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
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from repertory import catalogue
from repertory.agents.library import shares
from repertory.core.tally import favourites
from repertory.errors import UsageError
from repertory.learners.compiled_policy import CompiledPolicy, as_input
from repertory.learners.dqn import DQN
from repertory.learners.encoding import stacked
from repertory.learners.protocol import ActsAtRest, State, new_learner, turn_to
from repertory.paths import check_new_file, staged
from repertory.runs.checkpoint import Checkpoint, DamagedCheckpoint, read_checkpoint, write_file
from repertory.runs.formats import checked_settings
from repertory.runs.hub import push
from repertory.runs.reading import OtherFormat, Unreadable
from repertory.runs.spec import recorded_component
from repertory.runs.start import load_into
from repertory.wording import counted

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

        For a policy that looks back (DRQN, PRPO, RecurrentPPO), `observation` is one observation or the last few in a
        row, oldest first: (steps, features), or a list.
        """
        if not isinstance(self.learner, ActsAtRest):
            return int(np.argmax(self.action_probabilities(observation)))
        self._turn()
        actions, memory = None, None
        for seen in self._in_a_row(observation):
            actions, memory = self.learner.actions_at_rest(stacked([seen]), memory)
        action = np.asarray(actions)[0]
        return action if action.ndim else action.item()

    def export(self, path: str | Path) -> None:
        """Write the policy alone to a file for programs without repertory, to act as `predict` does.

        A compiled one is a .npz of plain matrices (`repertory.learners.plain_weights`), one of Stable-Baselines3 its
        own .zip. A policy that plays each task in its own way does there as for the task of `library.policy_for(task)`.
        """
        file, ending = Path(path), getattr(self.learner, "export_ending", None)
        if ending is None:
            kind = type(self.learner).__name__
            raise UsageError(f"a {kind} has no file for others; save the library, or ask `policy.learner` itself")
        if file.suffix != ending:
            raise UsageError(f"{file} is to hold a {type(self.learner).__name__}; valid: a name that ends in {ending}")
        if self.task is not None:
            turn_to(self.learner, self.task)
        check_new_file(file, "file")
        with staged(file.parent, called="file") as scratch:
            self.learner.export(scratch / file.name)

    def action_probabilities(self, observation: Any) -> NDArray[np.float64]:
        """The probability of each action, as it would explore."""
        if not hasattr(self.learner, "action_probabilities"):
            kind = type(self.learner).__name__
            raise UsageError(f"a {kind} has no action_probabilities to choose by; ask `policy.learner` itself")
        self._turn()
        row = as_input(self.learner, self._plain(observation))
        probabilities: NDArray[np.float64] = np.asarray(self.learner.action_probabilities(stacked([row])))[0]
        return probabilities

    def _turn(self) -> None:
        if self.task is not None:
            turn_to(self.learner, self.task)

    def _plain(self, observation: Any) -> Any:
        """An array, where it may be given as a list of numbers."""
        in_parts = isinstance(self.observation_space, (gymnasium.spaces.Dict, gymnasium.spaces.Tuple))
        return observation if in_parts else np.asarray(observation)

    def _in_a_row(self, observation: Any) -> list[Any]:
        """One observation after the other; most often there is one."""
        plain = self._plain(observation)
        shape = self.observation_space.shape
        is_row = isinstance(plain, list) if shape is None else plain.ndim > len(shape)
        return list(plain) if is_row else [plain]


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
        played = self.assignment[number]
        if np.isnan(played).any():
            raise UsageError(f"task {number} never came in this library's lifetime; choose one of `policies`")
        return replace(self.policies[int(played.argmax())], task=number)

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
        best, largest = favourites(self.assignment), self.assignment.max(axis=1)
        return pd.DataFrame({"task": self.task_names, "policy": best, "share": largest})

    @property
    def can_train(self) -> bool:
        """Whether its policies can be trained further without a loss; see `Policy.can_train`."""
        return all(policy.can_train for policy in self.policies)

    def save(self, path: str | Path, for_training: bool = False) -> bool:
        """Write a file that `repertory.load` reads; with `for_training`, memories and optimisers too.

        Returns whether the file has all that further training needs, as that of learners that are not built in does.
        """
        if for_training and not self.can_train:
            raise UsageError("this library was loaded without its replay memories; save the record of its run instead")
        arrays = {"assignment": self.assignment}
        for policy in self.policies:
            state = whole_state(policy.learner) if for_training else acting_state(policy.learner)
            arrays |= {f"policy {policy.number}/{name}": array for name, array in state.items()}
        can_train = for_training or not any(_is_built_in(policy.learner) for policy in self.policies)
        values = {
            "kind": KIND,
            "settings": self.settings,
            "count": len(self.policies),
            "for_training": can_train,
        }
        try:
            write_file(Path(path), Checkpoint(arrays, values))
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}; choose another path") from None
        return can_train

    def push_to_hub(
        self, repository: str, *, private: bool = False, for_training: bool = False, token: str | None = None
    ) -> str:
        """Upload the library to the Hugging Face Hub as `USER/NAME`, with a card; returns its address.

        Needs `pip install 'repertory[hub]'` and, unless a `token` is given, `hf auth login`.
        """
        return push(self, repository, private, for_training, token)

    def __repr__(self) -> str:
        domain = self.settings["domain"]["name"]
        limits = "" if self.can_train else ", to act with (saved without replay memories and optimisers)"
        policies, tasks = counted(len(self.policies), "policy"), counted(len(self.task_names), "task")
        return f"Library of {policies} for {tasks} of {domain}{limits}"


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
    content = read_library(file)
    settings, can_train = content.settings, content.can_train
    for part, given in (("domain", domain), ("learner", learner)):
        if given is None and not catalogue.can_build(part, settings[part]):
            raise UsageError(f"{file}: {catalogue.not_built(part, settings[part])}")
    made_domain = recorded_component(settings, "domain") if domain is None else domain
    make_learner = recorded_component(settings, "learner") if learner is None else learner
    if isinstance(make_learner, DQN) and not can_train:  # a policy that only acts needs no replay memory
        make_learner = make_learner.replace(buffer_size=make_learner.batch_size, protected=0)
    policies = []
    for number, state in enumerate(content.states):
        built = new_learner(
            make_learner, made_domain.observation_space, made_domain.action_space, 0, made_domain.n_tasks
        )
        _restore(built, state, file, can_train)
        policies.append(Policy(number, built, made_domain.observation_space, can_train or not _is_built_in(built)))
    return Library(policies, content.assignment, settings)


class LibraryFile(NamedTuple):
    """What a library's file holds, checked."""

    states: list[State]
    """Of the policies, by number."""
    assignment: NDArray[np.float64]
    settings: dict[str, Any]
    can_train: bool
    """Whether replay memories and optimisers were saved with it."""


def states_in(arrays: Mapping[str, NDArray[Any]], count: int | None = None) -> list[State]:
    """The states of the policies in a library's file or a checkpoint, by number: of all, or of `count`."""
    owners = shares(arrays)
    found = sum(owner.startswith("policy ") for owner in owners) if count is None else count
    return [owners.get(f"policy {number}", {}) for number in range(found)]


def read_library(file: Path) -> LibraryFile:
    """A library's file; one that is something else, damaged or altered is refused."""
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
    states = states_in(content.arrays, count)
    return LibraryFile(states, assignment, settings, bool(content.values.get("for_training")))


def _restore(learner: Any, state: State, file: Path, is_whole: bool) -> None:
    try:
        load_into(learner, state, is_whole)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        if is_whole or not _is_built_in(learner):
            reason = f"the policies in {file} do not fit this version or the given learner ({error})"
        else:
            reason = f"{file} has policies of another shape than its settings say: it was altered; use another copy"
        raise UsageError(reason) from error
