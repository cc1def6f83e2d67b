"""Whatever stands in the files of a run folder: one clear line, no other exception, nothing restarted, nothing lost."""

from __future__ import annotations

import io
import json
import random
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import repertory
from repertory.errors import UsageError
from repertory.report.claims import judge
from repertory.report.dashboard import DashboardServer
from repertory.report.page import page_content
from repertory.report.sections import chapters, libraries
from repertory.runs.checkpoint import Checkpoint, DamagedCheckpoint, checksums, read_checkpoint
from repertory.runs.folder import RunFolder
from repertory.runs.live import live_spec
from repertory.runs.opened import open_run
from repertory.runs.spec import RunSpec
from repertory.sweeps.export import export
from repertory.sweeps.migrate import migrate
from repertory.sweeps.results import read_results

OLD = Path(__file__).parent / "data" / "format-1"
DEEP = 10_000
NESTED = "[" * DEEP + "]" * DEEP
VALUES: list[Any] = [None, "text", "", -1, 0, 10**30, 1.5, True, [], {}, [None], {"name": None}]
RAW = ["NaN", "Infinity", "1e999", NESTED, "9" * 5000]
"""Values that Python's JSON would not write."""


def field_paths(content: Any, depth: int = 3, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every field, that of whole objects included."""
    if isinstance(content, dict) and depth:
        for key, value in content.items():
            yield (*path, key)
            yield from field_paths(value, depth - 1, (*path, key))
    elif isinstance(content, list) and content and depth:
        yield (*path, 0)


def mutations(content: Any, rng: random.Random, count: int) -> Iterator[str]:
    """JSON texts, each with one field missing, of another kind, or nested out of all bounds."""
    paths = list(field_paths(content))
    for _ in range(count):
        copy = json.loads(json.dumps(content))
        *parents, last = rng.choice(paths)
        target = copy
        for key in parents:
            target = target[key]
        kind = rng.choice(["missing", "value", "raw"])
        if kind == "missing":
            del target[last]
        else:
            target[last] = rng.choice(VALUES) if kind == "value" else "@raw@"
        yield json.dumps(copy).replace('"@raw@"', rng.choice(RAW))


def whole_files(rng: random.Random) -> Iterator[str]:
    yield from ("", "{", "null", "[]", "3", NESTED, '{"format": 99}', '{"format": "2"}', '{"settings": {}}', "\x00\xff")


@pytest.fixture(scope="module")
def today(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two runs in today's formats, one of them unfinished, as a sweep leaves them."""
    root = tmp_path_factory.mktemp("today")
    shutil.copytree(OLD / "sweep", root / "sweep")
    migrate(root / "sweep")
    finished = root / "sweep" / "AdaptivePPO2P" / "run-00"
    status = {"state": "finished", "blocks": 4.0, "steps_per_second": 10.0, "score": 2.0, "host": "", "process": 1}
    (finished / "status.json").write_text(json.dumps({**status, "message": "", "time": 1.0}))
    (finished / "summary.json").write_text('{"policy_spread": 0.1, "memory": 100, "steps_per_second": 3.0}')
    return root


@pytest.fixture
def sweep(today: Path, tmp_path: Path) -> Path:
    return shutil.copytree(today / "sweep", tmp_path / "sweep")


def look_at(folder: Path, target: Path, with_claims: bool = False) -> int:
    """Everything that reads a folder of runs; how many runs were shown. Claims take half a second to judge."""
    results = read_results(folder)
    page_content(results, chapters(results, with_slow=with_claims))
    libraries.section(results)
    if with_claims:
        judge([results])
    with DashboardServer(folder, 0) as server:
        json.loads(server.data())
    export(folder, target)
    return len(results.runs)


def outcome(act: Callable[[], Any]) -> Any:
    """What it returns, or the one line that it is refused with; nothing else may come."""
    try:
        return act()
    except UsageError as error:
        message = str(error)
    assert "\n" not in message
    assert len(message) < 2000
    return message


def go_on(folder: Path) -> None:
    live_spec(RunSpec.from_json(RunFolder(folder).settings()), folder)


FILES = ["sweep.json", *(f"AdaptivePPO2P/run-00/{name}" for name in ("run.json", "status.json", "time.json"))]
FILES += [f"AdaptivePPO2P/run-00/{name}" for name in ("done", "summary.json")]


def fuzz_reading(name: str, sweep: Path, tmp_path: Path, rounds: int, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    file = sweep / name
    text = file.read_text()
    shown = refused = 0
    for index, broken in enumerate([*whole_files(rng), *mutations(json.loads(text), rng, rounds)]):
        file.write_text(broken)
        found = outcome(lambda index=index: look_at(sweep, tmp_path / f"out-{index}", with_claims=index % 9 == 0))
        if isinstance(found, int):
            shown += 1
            assert found >= 1, "the unharmed run is shown whatever befell the other"
        else:
            refused += 1
    file.write_text(text)
    assert shown > 0
    assert refused > 0 or name != "sweep.json"
    assert look_at(sweep, tmp_path / "out-last") == 2


@pytest.mark.parametrize("name", FILES)
def test_files_that_say_nonsense_are_named_and_the_rest_is_shown(name: str, sweep: Path, tmp_path: Path) -> None:
    fuzz_reading(name, sweep, tmp_path, rounds=25, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_many_files_that_say_nonsense(name: str, sweep: Path, tmp_path: Path) -> None:
    fuzz_reading(name, sweep, tmp_path, rounds=600, seed=1)


def fuzz_going_on(folder: Path, rounds: int, seed: int) -> None:
    rng = random.Random(seed)
    text = (folder / "run.json").read_text()
    rows = pd.read_parquet(folder / "blocks.parquet")
    spec = RunSpec.from_json(RunFolder(folder).settings())
    for broken in [*whole_files(rng), *mutations(json.loads(text), rng, rounds)]:
        (folder / "run.json").write_text(broken)
        outcome(lambda: live_spec(spec, folder))
        outcome(lambda: open_run(folder))
        lived = pd.read_parquet(folder / "blocks.parquet")
        pd.testing.assert_frame_equal(lived.head(len(rows))[list(rows)], rows, check_exact=True)  # columns may be added
        if (folder / "done").exists():  # the change did not matter; begin again from where it was
            return


def test_a_damaged_run_file_restarts_nothing(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(OLD / "runs" / "ppo-unfinished", tmp_path / "run"))
    fuzz_going_on(folder, rounds=60, seed=0)


# -------------------------------------------------------------------------------------------------- parquet


def broken_blocks(blocks: pd.DataFrame) -> dict[str, pd.DataFrame]:
    made = {f"without {column}": blocks.drop(columns=column) for column in blocks.columns}
    for column in blocks.columns:
        made[f"{column} as text"] = blocks.assign(**{column: "text"})
        made[f"{column} missing"] = blocks.assign(**{column: [None, *blocks[column][1:]]})
        made[f"{column} huge"] = blocks.assign(**{column: 2**62})
        made[f"{column} negative"] = blocks.assign(**{column: -5})
        made[f"{column} not a number"] = blocks.assign(**{column: float("nan")})
    return made | {"no rows": blocks.head(0), "twice": pd.concat([blocks, blocks])}


def test_blocks_that_cannot_be_are_named(sweep: Path, tmp_path: Path) -> None:
    folder = sweep / "AdaptivePPO2P" / "run-00"
    blocks = pd.read_parquet(folder / "blocks.parquet")
    for index, (name, broken) in enumerate(broken_blocks(blocks).items()):
        broken.to_parquet(folder / "blocks.parquet", index=False)
        RunFolder(folder).finish()
        found = outcome(lambda index=index: look_at(sweep, tmp_path / f"out-{index}"))
        problems = read_results(sweep).problems
        if any(word in name for word in ("without", "text", "missing", "not a number", "twice")):
            assert len(problems) == 1, name
            assert "blocks.parquet" in problems[0]
        assert isinstance(found, (int, str)), name


def test_parquet_files_of_noise(sweep: Path, rng: np.random.Generator) -> None:
    file = sweep / "AdaptivePPO2P" / "run-00" / "blocks.parquet"
    whole = file.read_bytes()
    for _ in range(100):
        content = bytearray(whole)
        for place in rng.integers(len(content), size=rng.integers(1, 30)):
            content[place] = rng.integers(256)
        file.write_bytes(bytes(content[: rng.integers(1, len(content) + 1)]))
        assert len(outcome(lambda: read_results(sweep)).runs) >= 1


# ---------------------------------------------------------------------------------------------- checkpoints


def archive(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return buffer.getvalue()


def npy(array: np.ndarray, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **options)
    return buffer.getvalue()


def header(text: str) -> bytes:
    padded = text + " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded.encode()


def lies(members: dict[str, bytes]) -> dict[str, bytes]:
    """Files that look like a checkpoint."""
    name = next(member for member in members if member != "meta.npy")
    big = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    return {
        "another name": archive({**{k: v for k, v in members.items() if k != name}, "../../escape.npy": members[name]}),
        "an absolute name": archive({**members, "/tmp/escape.npy": members[name]}),
        "a member more": archive({**members, "more.npy": members[name]}),
        "a member less": archive({k: v for k, v in members.items() if k != name}),
        "objects": archive({**members, name: npy(np.array([{}, []], object), allow_pickle=True)}),
        "a size that is not there": archive({**members, name: header(big) + b"\0" * 64}),
        "no header": archive({**members, name: b"hello"}),
        "a header of nonsense": archive({**members, name: header("(" * 200)}),
        "a header that is not a header": archive({**members, name: header("{'shape': 3}")}),
        "compressed": archive(members, zipfile.ZIP_DEFLATED),
        "no meta": archive({k: v for k, v in members.items() if k != "meta.npy"}),
        "meta of nonsense": archive({**members, "meta.npy": npy(np.frombuffer(b"{]", np.uint8))}),
        "meta nested": archive({**members, "meta.npy": npy(np.frombuffer(NESTED.encode(), np.uint8))}),
        "meta a list": archive({**members, "meta.npy": npy(np.frombuffer(b"[]", np.uint8))}),
        "meta without values": archive({**members, "meta.npy": npy(np.frombuffer(b'{"format": 2}', np.uint8))}),
        "a bomb": archive({**members, "bomb.npy": npy(np.zeros(10**7, np.uint8))}, zipfile.ZIP_DEFLATED),
    }


def test_archives_that_lie_are_damaged_and_write_nothing_elsewhere(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(OLD / "runs" / "ppo-unfinished", tmp_path / "inner" / "run"))
    file = folder / "checkpoint.npz"
    with zipfile.ZipFile(file) as whole:
        members = {name: whole.read(name) for name in whole.namelist()}
    rows = (folder / "blocks.parquet").read_bytes()
    for name, content in lies(members).items():
        file.write_bytes(content)
        with pytest.raises(DamagedCheckpoint):
            read_checkpoint(file)
        assert "cannot be resumed" in outcome(lambda: go_on(folder)), name
        assert (folder / "blocks.parquet").read_bytes() == rows
        shutil.copy(file, tmp_path / "library.npz")
        assert "damaged" in outcome(lambda: repertory.load(tmp_path / "library.npz")), name
    assert not list(tmp_path.parent.rglob("escape*"))


def test_values_of_nonsense_in_a_well_summed_checkpoint(tmp_path: Path) -> None:
    """Somebody altered it and made its checksums anew."""
    rng = random.Random(5)
    folder = Path(shutil.copytree(OLD / "runs" / "ppo-unfinished", tmp_path / "run"))
    held = read_checkpoint(folder / "checkpoint.npz")
    refused = 0
    for text in mutations(held.values, rng, 80):
        write_unchecked(folder / "checkpoint.npz", held.arrays, text)
        refused += isinstance(outcome(lambda: open_run(folder)), str)
    assert refused > 30


def write_unchecked(path: Path, arrays: dict[str, np.ndarray], values: str) -> None:
    meta = f'{{"format": 2, "values": {values}, "checksums": {json.dumps(checksums(arrays))}}}'
    np.savez(path, **{"meta": np.frombuffer(meta.encode(), np.uint8), **arrays})


def test_a_good_checkpoint_is_read_back(tmp_path: Path, rng: np.random.Generator) -> None:
    """What the tests above refuse is refused for its fault, not for its form."""
    arrays = {"a/b": rng.normal(size=(3, 4)), "empty": np.zeros((0, 5), np.int32), "scalar": np.array(3)}
    write_unchecked(tmp_path / "file.npz", arrays, '{"x": 1}')
    assert read_checkpoint(tmp_path / "file.npz").values == {"x": 1}
    assert isinstance(read_checkpoint(tmp_path / "file.npz"), Checkpoint)
