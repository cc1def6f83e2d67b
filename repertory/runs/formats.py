"""The formats of what a run leaves, by number, and the way from older ones to today's.

Every file says its format and the code that made it. What an older version wrote is read as what it was: settings that
it did not have yet take the value that the code had then (`setting(..., before=...)`, or the default). What only a
newer version can read is refused by name. No run is started again because its files are of another version.

- Format 1 (0.1.0): no number in the files; `run.json` has the versions of packages.
- Format 2 (0.2.0): `run.json`, `sweep.json`, `blocks.parquet`, checkpoints and saved libraries say their format and
  who made them (`provenance`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from repertory import catalogue
from repertory.core.tally import EVALUATION, HEALTH, HELD_OUT
from repertory.domains.domain import SCORES, SPLIT
from repertory.errors import UsageError
from repertory.learners.sb3_by_name import name_in_record
from repertory.runs.provenance import MadeBy
from repertory.runs.reading import Unreadable, build, check_format, parse_json, read_json, shown
from repertory.runs.spec import COMPONENTS
from repertory.settings import Settings

RUN_FORMAT = 2
BLOCKS_FORMAT = 2
SINCE: dict[str, Any] = {
    **{"task": None, "agent": {"name": "library"}, "hidden_tasks": False, "sequence": "seed"},
    **{"start_from": None, "grown": []},
}
"""Settings that older runs did not record, and their value then."""
METADATA_KEY = b"repertory"
INTEGER_COLUMNS = ("block", "task", "steps", "episodes")
REAL_COLUMNS = ("total_reward", "mean_return", "last_return")


# ----------------------------------------------------------------------------------------------------- run.json


@dataclass(frozen=True)
class RunFile:
    """What `run.json` says."""

    settings: dict[str, Any]
    made_by: tuple[MadeBy, ...]
    """The code that made the run; more than one where it was resumed by other code."""

    def text(self) -> str:
        makers = [maker.as_dict() for maker in self.made_by]
        return json.dumps({"format": RUN_FORMAT, "settings": self.settings, "made_by": makers}, indent=2) + "\n"

    def resumed_by(self, maker: MadeBy, block: int) -> RunFile:
        """The same, with the code that resumes it at a block, if that differs from the last."""
        if self.made_by and self.made_by[-1].is_same_code(maker):
            return self
        return replace(self, made_by=(*self.made_by, replace(maker, from_block=block)))


@dataclass(frozen=True)
class _Shape:
    """The settings of a run as they must be for anything to be done with them."""

    domain: dict[str, Any]
    learner: dict[str, Any]
    selector: dict[str, Any]
    agent: dict[str, Any]
    policies: int
    blocks: int
    block_steps: int
    seed: int
    run: int
    profile: str
    score: str
    task_names: list[str]
    task: int | list[int] | None
    hidden_tasks: bool
    sequence: str
    start_from: dict[str, Any] | None
    grown: list[list[int]]

    def __post_init__(self) -> None:
        for name, smallest in {"policies": 1, "blocks": 1, "block_steps": 1, "seed": 0, "run": 0}.items():
            if getattr(self, name) < smallest:
                raise UsageError(f"'{name}' is {getattr(self, name)}; valid: at least {smallest}")
        for name in COMPONENTS:
            if not isinstance(getattr(self, name).get("name"), str):
                raise UsageError(f"'{name}.name' is {shown(getattr(self, name).get('name'))}; valid: a text")
        if self.score not in SCORES:
            raise UsageError(f"'score' is {shown(self.score)}; valid: {' or '.join(SCORES)}")
        if not self.task_names:
            raise UsageError("'task_names' is an empty list; valid: the names of one task or more")
        if self.start_from is not None and set(self.start_from) != {"policies", "sha256"}:
            raise UsageError(f"'start_from' is {shown(self.start_from)}; valid: 'policies' and 'sha256', or null")
        if any(len(stage) != 2 for stage in self.grown):
            raise UsageError(f"'grown' is {shown(self.grown)}; valid: pairs of a block and a number of tasks")


def read_run_file(path: Path) -> RunFile:
    """`run.json` of any format up to today's. A missing file is a FileNotFoundError."""
    content = read_json(path)
    number = check_format(_with_last_maker(content), RUN_FORMAT, path)
    settings = checked_settings(content.get("settings"), path)
    if number == 1:
        return RunFile(settings, (_maker_of_format_1(content, path),))
    makers = content.get("made_by")
    if not isinstance(makers, list) or not all(isinstance(maker, dict) for maker in makers):
        raise Unreadable(path, f"'made_by' is {shown(makers)}; valid: a list of objects")
    return RunFile(settings, tuple(build(MadeBy, maker, path) for maker in makers))


def _with_last_maker(content: dict[str, Any]) -> dict[str, Any]:
    """So that a refusal can name the version that wrote the file last."""
    makers = content.get("made_by")
    return {**content, "made_by": makers[-1]} if isinstance(makers, list) and makers else content


def _maker_of_format_1(content: dict[str, Any], path: Path) -> MadeBy:
    found = content.get("versions", {})
    if not isinstance(found, dict) or not all(isinstance(version, str) for version in found.values()):
        raise Unreadable(path, f"'versions' is {shown(found)}; valid: an object of texts")
    packages = {name: version for name, version in found.items() if name != "repertory"}
    return MadeBy(version=found.get("repertory"), packages=packages)


def checked_settings(settings: Any, source: Path | str) -> dict[str, Any]:
    """The settings of a run, checked, with those added that an older version did not record."""
    if not isinstance(settings, dict):
        raise Unreadable(source, f"'settings' is {shown(settings)}; valid: an object")
    build(_Shape, SINCE | settings, source)
    return completed(settings)


def completed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of an older run, with those added that it did not record."""
    whole = {**SINCE, **settings}
    for part in COMPONENTS:
        known = _settings_class(f"{part}s", whole[part]["name"])
        if known is not None:
            whole[part] = known.completed(whole[part])
    if whole["learner"]["name"] == "SB3":  # before algorithms of Stable-Baselines3 had names
        whole["learner"] = {**whole["learner"], "name": name_in_record(whole["learner"]) or "SB3"}
    return whole


def goes_on(held: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Whether a run with these settings is the one that was held before, gone on: with more blocks, or more tasks."""
    names, stages = held["task_names"], held["grown"]
    may_grow = {"blocks", "grown", "domain", "task_names"} if settings["grown"] != stages else {"blocks"}
    return (
        held.keys() == settings.keys()
        and all(held[key] == settings[key] for key in held if key not in may_grow)
        and held["blocks"] <= settings["blocks"]
        and settings["task_names"][: len(names)] == names
        and settings["grown"][: len(stages)] == stages
    )


def _settings_class(kind: str, name: str) -> type[Settings] | None:
    """Of a component in the catalogue; None for the user's own, or one whose package is not installed."""
    try:
        return catalogue.settings_class(kind, name)
    except UsageError:
        return None


def unknown_settings(settings: Mapping[str, Any]) -> list[str]:
    """Settings of a run that this version does not have, such as `learner.new_idea`."""
    found = []
    for part in COMPONENTS:
        known = _settings_class(f"{part}s", settings[part]["name"])
        if known is not None and known is not catalogue.NoSettings:
            names = {"name", "tasks", *SPLIT, *known.field_names()}
            found += [f"{part}.{name}" for name in settings[part] if name not in names]
    return found


# ----------------------------------------------------------------------------------------------- blocks.parquet


def write_blocks(blocks: pd.DataFrame, path: Path, maker: MadeBy) -> None:
    """Rows of blocks, and in the file's metadata its format and the code that made them."""
    note = {"format": BLOCKS_FORMAT, "made_by": maker.note()}
    table = pa.Table.from_pandas(blocks, preserve_index=False)
    metadata = {**(table.schema.metadata or {}), METADATA_KEY: json.dumps(note).encode()}
    with path.open("wb") as file:  # not by its name, which Arrow takes for text
        pq.write_table(table.replace_schema_metadata(metadata), file)


def read_blocks(path: Path, settings: Mapping[str, Any]) -> pd.DataFrame:
    """The blocks of a run with these settings. A missing file is a FileNotFoundError."""
    try:
        table = pq.read_table(pa.BufferReader(path.read_bytes()))
        note = (table.schema.metadata or {}).get(METADATA_KEY, b"{}")
        blocks: pd.DataFrame = table.to_pandas()
    except FileNotFoundError:
        raise
    except (OSError, ValueError, TypeError, KeyError, pa.ArrowException, RecursionError, MemoryError) as error:
        raise Unreadable(path, " ".join(str(error).split())[:200] or type(error).__name__) from None
    check_format(parse_json(note, path), BLOCKS_FORMAT, path)
    columns = [column for column in blocks.columns if column.startswith("policy_")]
    # A library has as many policies as were asked for; of other agents, as many as ever played.
    count = settings["policies"] if settings["agent"]["name"] == "library" else max(len(columns), 1)
    policies = [f"policy_{i}" for i in range(count)]
    for column in (*INTEGER_COLUMNS, *REAL_COLUMNS, *policies):
        if column not in blocks.columns:
            raise Unreadable(path, f"the column '{column}' is missing")
        kind = "iuf" if column in REAL_COLUMNS else "iu"
        if blocks[column].dtype.kind not in kind or not _finite(blocks[column]):
            raise Unreadable(path, f"the column '{column}' holds a value that is not a number")
    for column in blocks.columns:
        if column.startswith((HEALTH, HELD_OUT, EVALUATION)) and blocks[column].dtype.kind not in "iuf":
            raise Unreadable(path, f"the column '{column}' holds a value that is not a number")
    for column, least, most in (
        ("task", 0, len(settings["task_names"]) - 1),
        ("steps", 1, None),
        ("episodes", 1, None),
        *((policy, 0, None) for policy in policies),
    ):
        if len(blocks) and (blocks[column].min() < least or (most is not None and blocks[column].max() > most)):
            raise Unreadable(path, f"the column '{column}' holds a number out of range")
    if not np.array_equal(blocks["block"], np.arange(len(blocks))):
        raise Unreadable(path, "its blocks are not numbered from 0")
    return blocks


def _finite(column: pd.Series) -> bool:
    return bool((column.abs() < 1e300).all())
