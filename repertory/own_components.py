"""Domains, learners, selectors and agents from a user's own file: `--domain my_tasks.py:domain`.

What a file has under the name may be the thing itself (a `Domain`, settings such as `repertory.DQN(gamma=0.9)`), a
settings class, or a function. The keyword arguments of a function are its settings: `--set learner.learning_rate=0.1`
is given to `def make(observation_space, action_space, seed, learning_rate=0.01)`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
from collections.abc import Mapping
from typing import Any

from repertory import own_code
from repertory.domains.domain import Domain
from repertory.domains.entry import DomainEntry
from repertory.errors import UsageError, shown, unknown
from repertory.fingerprint import code_fingerprint
from repertory.profiles import with_profile
from repertory.settings import Settings
from repertory.text_values import value_of

CODE, BUILT = "code", "built"
TOLD = (CODE, BUILT)
"""Keys of a record that tell of a component and are not among its settings."""
GIVEN = {"learner": 3, "selector": 3, "agent": 1}
"""How many arguments, without a name, a function that makes one is called with."""
_names_of_classes: dict[type, str] = {}


class OwnComponent:
    """A function of the user's own that makes learners, selectors or agents, with its settings."""

    def __init__(self, name: str, make: Any, settings: Mapping[str, Any]) -> None:
        self.name = name
        self._make = make
        self._settings = dict(settings)

    def __call__(self, *arguments: Any, **told: Any) -> Any:
        return self._make(*arguments, **told, **self._settings)

    def __getattr__(self, name: str) -> Any:
        """What else is known of it, such as the `window` of a learner that looks back."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._make, name)

    @property
    def arguments_of(self) -> Any:
        """The function whose keyword arguments are the settings."""
        return self._make

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for the record of a run."""
        as_dict = None if isinstance(self._make, type) else getattr(self._make, "as_dict", None)
        code = _file_fingerprint(self.name) if as_dict is None else as_dict()
        return {**self._settings, CODE: code_fingerprint(self._make) or code}

    @property
    def is_described(self) -> bool:
        return self.as_dict()[CODE] is not None


def own_domain(name: str, profile: str, changes: Mapping[str, Any]) -> Domain:
    """The domain of a name such as `my_tasks.py:domain`, which becomes its name."""
    found = _loaded(name)
    try:
        if isinstance(found, DomainEntry):
            made = found.build(with_profile(found.rules, profile).replace_from_text(changes))
            told = made.settings
        else:
            is_function = callable(found) and not isinstance(found, Domain)
            given = _arguments(name, found, changes, 0) if is_function else {}
            _refuse_settings(name, {key: value for key, value in changes.items() if key not in given})
            made = found(**given) if is_function else found
            told = {**given, BUILT: getattr(made, "settings", {})}
    except UsageError:
        raise
    except Exception as error:  # whatever the user's code may raise
        raise UsageError(f"the domain {name} cannot be built: {type(error).__name__}: {error}") from error
    if not isinstance(made, Domain):
        raise UsageError(f"{name} is {shown(made)}; valid: a repertory.Domain, or a function that returns one")
    code = {} if made.is_described else {CODE: _file_fingerprint(name)}
    return dataclasses.replace(
        made, name=own_code.canonical(name), settings={**told, **code}, is_described=None not in code.values()
    )


def own_component(part: str, name: str, profile: str, changes: Mapping[str, Any], domain_name: str) -> Any:
    """The settings or the function that a name such as `my_learner.py:make` stands for."""
    found, name = _loaded(name), own_code.canonical(name)
    if isinstance(found, type) and issubclass(found, Settings):
        _names_of_classes[found] = name
        return with_profile(found, profile, domain_name).replace_from_text(changes)
    if isinstance(found, Settings):
        _names_of_classes.setdefault(type(found), name)
        return found.replace_from_text(changes)
    if not callable(found):
        raise UsageError(f"{name} is {shown(found)}; valid: settings, or a function that makes a {part}")
    if hasattr(found, "as_dict") and not isinstance(found, type):
        _refuse_settings(name, changes)
        return OwnComponent(name, found, {})
    return OwnComponent(name, found, _arguments(name, found, changes, GIVEN[part]))


def own_name(component: object) -> str | None:
    """Of what came from a file; None for everything else."""
    if isinstance(component, OwnComponent):
        return component.name
    return _names_of_classes.get(type(component))


def own_lengths(name: str) -> tuple[int, int] | None:
    """Blocks and steps of a block that a file's domain says of itself, if the user has named that file."""
    found = own_code.load(name) if own_code.is_allowed(name) else None
    return (found.blocks, found.block_steps) if isinstance(found, DomainEntry) else None


def _loaded(name: str) -> Any:
    own_code.allow(name)
    return own_code.load(name)


def _refuse_settings(name: str, changes: Mapping[str, Any]) -> None:
    if changes:
        raise UsageError(
            f"{name} has no settings, but '{next(iter(changes))}' is given; next: make it a function of it"
        )


def _arguments(name: str, function: Any, changes: Mapping[str, Any], positional: int) -> dict[str, Any]:
    """Settings as the keyword arguments of a function, checked before it is called."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # of code that is not Python's
        parameters = []
    named = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    named = [each for each in named[positional:] if each != "n_tasks"]
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters)
    for key in changes:
        if key not in named and not takes_any:
            if not named:
                _refuse_settings(name, changes)
            raise unknown(f"argument of {name}", key, named)
    given = {key: value_of(value) for key, value in changes.items()}
    json.dumps(given)  # plain values, as all that comes from a command line, a file or a record
    return given


def _file_fingerprint(name: str) -> str | None:
    text = own_code.source_text(name)
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()[:16]
