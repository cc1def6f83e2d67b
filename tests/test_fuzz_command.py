"""Malformed command lines and settings files: one clear line, never a traceback, and nothing written anywhere else.

Every command line has an argument that must be refused, so that none begins to live or to draw for long. The cases
follow from a seed; a failure shows the arguments.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import repertory
import repertory.report.to_matplotlib  # its first import makes folders of its own, in the home of the user
from repertory.benchmarks.threads import VARIABLES
from repertory.cli import main
from repertory.errors import SHOWN_LENGTH, one_line, unknown
from repertory.kernels.cache import cache_folder

SECONDS = 60
"""More than any refusal takes."""
LONG_NAME, LONG_PATH = "x" * 300, "x/" * 3000

# ------------------------------------------------------------------------------------------------ what may be said


class Values(NamedTuple):
    """Of one kind of argument: what some verb takes, what none can read, and what none can use."""

    right: Sequence[str]
    unreadable: Sequence[str]
    unusable: Sequence[str]


# No null characters: a command line cannot hold one.
NAMES = ["", " ", "cartpol", "DQN", "dqn ", "a\nb", "a\rb", "\x1b[31mred", "a\u2028b", "ünïcödé ☃", "\udcff"]
NAMES += ["-", "--", "../../etc", "x" * 10_000, "%s%n{0}", "[bold]", "'", '"', "text\n", "null", "[]"]
NO_NUMBERS = ["", " ", "x", "0x10", "1,5", "1 2", "--1", "½", "1_", "None", "1;", "9" * 5000 + "x"]
NO_WHOLE = [*NO_NUMBERS, "1.5", "nan", "inf", "1e400", "9" * 5000]
HUGE = ["-1", "-9223372036854775809", "9" * 30]
BEYOND = ["nan", "-nan", "inf", "-inf", "1e400", "-0.1", "-1", "-1e300"]

KINDS: dict[str, Values] = {
    "domain": Values(["cartpole27", "pocman18"], [], NAMES),
    "learner": Values(["random", "dqn"], [], NAMES),
    "selector": Values(["epsilon-greedy"], [], NAMES),
    "profile": Values(["text", "released"], [], NAMES),
    "engine": Values(["local"], [], NAMES),
    "experiment": Values(["cartpole27", "ucb"], [], NAMES),
    "conditions": Values(["*1P"], [], ["a\nb", "dqn", "[", "x" * 10_000, "☃", "*1P,x"]),
    "figure": Values(["policiesscore", "parameters"], [], NAMES),
    "example": Values(["walks"], [], NAMES),
    "list": Values(["profiles"], [], NAMES),
    "count": Values(["1", "2"], NO_WHOLE, ["0", *HUGE]),
    "index": Values(["0", "1"], NO_WHOLE, HUGE),
    "workers": Values(["1", "2"], NO_WHOLE, ["0", "-1"]),
    "share": Values(["0", "0.05", "1"], NO_NUMBERS, [*BEYOND, "1.1", "5"]),
    "scale": Values(["0.001"], NO_NUMBERS, [*BEYOND, "0", "1e7"]),
    "tolerance": Values(["0", "0.25"], NO_NUMBERS, BEYOND),
    "fps": Values(["10"], NO_NUMBERS, [*BEYOND, "0", "51"]),
    "port": Values(["0"], NO_WHOLE, [*HUGE, "70000"]),
    "size": Values(["200MB"], ["", "x", "MB", "1 TB", "5\n"], ["-1MB", "0", "nan", "inf", "1e999GB", "1B"]),
    "policies": Values(["1,2"], ["", ",", "x", "1,,2", "1.5", "1;2", "9" * 5000], ["0", "-1", "28", "9" * 30]),
    "runs": Values(["0", "0-1"], ["", ",", "x", "-1", "-", "1-2-3", "²", "1\n2"], ["0-999999999", "2-1"]),
    "assignment": Values(
        ["domain.force=2"],
        ["", "=", "learner", "learner.", ".x=1", "learner.=1", "x.y=1", "☃.☃=1"],
        ["domain.force=nan", "domain.force=a\nb", "domain.x=1", "selector.epsilon=" + "9" * 5000],
    ),
}


@dataclass(frozen=True)
class Verb:
    """A verb, and the kinds of its arguments."""

    words: str
    places: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    needed: tuple[str, ...] = ()
    """Options without which it does nothing."""
    fixed: str = ""
    """Given in every case, so that whatever is not refused is short."""


VERBS = (
    Verb(
        "run",
        (),
        {"--domain": "domain", "--learner": "learner", "--policies": "count", "--selector": "selector"}
        | {"--profile": "profile", "--run": "index", "--seed": "index", "--task": "index", "--out": "target"}
        | {"--set": "assignment", "--config": "file"},
        ("--domain", "--learner", "--policies"),
        "--blocks 1 --block-steps 1",
    ),
    Verb(
        "reproduce",
        ("experiment",),
        {"--runs": "runs", "--conditions": "conditions", "--scale": "scale", "--workers": "workers"}
        | {"--profile": "profile", "--engine": "engine", "--out": "target", "--seed": "index"},
        (),
        "--blocks 1",
    ),
    Verb("report", ("source",), {"--out": "target"}),
    Verb("dashboard", ("source",), {"--port": "port"}, ("--port",)),
    Verb("claims", ("source",)),
    Verb("export", ("source", "target")),
    Verb("results", ("source",), {"--out": "target file"}),
    Verb(
        "watch",
        ("run folder",),
        {"--task": "index", "--policy": "index", "--episodes": "count", "--seed": "index", "--fps": "fps"}
        | {"--out": "picture"},
    ),
    Verb("evaluate", ("run folder",), {"--episodes": "count", "--seed": "index", "--out": "target"}),
    Verb("figure", ("figure", "source"), {"--profile": "profile", "--out": "target"}),
    Verb("list", ("list",)),
    Verb("bench", (), {"--out": "target", "--repeats": "count"}, (), "--only nothing-of-the-kind"),
    Verb("capacity empirical", ("source",), {"--tolerance": "share", "--out": "target"}),
    Verb("capacity theoretical", ("example",), {"--tolerance": "tolerance", "--out": "target"}),
    Verb(
        "capacity clusters",
        ("domain",),
        {"--profile": "profile", "--seed": "index", "--out": "target"},
        (),
        "--steps 1 --seeds 1",
    ),
    Verb(
        "capacity recommend",
        ("domain",),
        {"--learner": "learner", "--tolerance": "share", "--memory": "size", "--results": "source"}
        | {"--policies": "policies", "--runs": "count", "--profile": "profile", "--workers": "workers"}
        | {"--out": "target"},
        ("--learner",),
        "--blocks 1 --block-steps 1",
    ),
    Verb("capacity memory", (), {"--runs": "count", "--out": "target"}, (), "--blocks 1"),
)


class Places:
    """A folder with all sorts of things that may be named where a folder or a file belongs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        repertory.live("cartpole27", "random", 1, blocks=2, block_steps=60, out=folder / "good" / "1P" / "run-00")
        (folder / "file").write_text("neither a run nor TOML \0")
        (folder / "empty").mkdir()
        os.mkfifo(folder / "pipe")
        for loop, target in (("loop", "loop"), ("this", "that"), ("that", "this"), ("dangling", "nowhere")):
            (folder / loop).symlink_to(folder / target)
        names = [LONG_NAME, LONG_PATH, f"new/{LONG_NAME}", "loop", "loop/x", "this/x/y", "file/x", "pipe/x"]
        names += [f"file/{LONG_NAME}", f"loop/{LONG_NAME}/x", "dangling"]
        cannot_be = [LONG_NAME, LONG_PATH, *(f"{folder}/{name}" for name in names)]
        is_not = ["no\nsuch", "no\x1b[2Jsuch", "☃", "\udcff", " ", "~", "a\u2029b", f"{folder}/none", f"{folder}/file"]
        is_not += [f"{folder}/file/", f"{folder}/pipe", "/dev/null"]
        is_file = [f"{folder}/file", f"{folder}/pipe", "/dev/null"]
        is_folder = [f"{folder}/empty", f"{folder}/pipe", ".", ""]
        pictures = ["x.png", "no/such/x.gif", f"{folder}/loop/x.gif", ".gif", f"{folder}/{LONG_NAME}.gif"]
        good = str(folder / "good")
        self.kinds = {
            "source": Values([good], cannot_be, is_not),
            "run folder": Values([f"{good}/1P/run-00"], cannot_be, [*is_not, good, f"{folder}/empty"]),
            "target": Values(["new", "new/deep", "new\nline"], cannot_be, is_file),
            "target file": Values(["new.md"], cannot_be, is_folder),
            "picture": Values(["new.gif"], cannot_be, pictures),
            "file": Values([], cannot_be, ["no\nsuch", "☃", "\udcff", f"{folder}/file", f"{folder}/empty", "."]),
        }


# --------------------------------------------------------------------------------------------------------- a case


def one_of(rng: np.random.Generator, values: Sequence[str]) -> str:
    return values[int(rng.integers(len(values)))]


def command_line(rng: np.random.Generator, places: Places) -> list[str]:
    """A verb with some arguments, at least one of which cannot be taken."""
    verb = VERBS[int(rng.integers(len(VERBS)))]
    kinds = [("", kind) for kind in verb.places] + list(verb.options.items())
    spoilt = int(rng.integers(len(kinds)))
    line = [*verb.words.split(), *verb.fixed.split()]
    for index, (option, kind) in enumerate(kinds):
        values = (KINDS | places.kinds)[kind]
        if index == spoilt or rng.random() < 0.1:
            wrong = [group for group in values[1:] if group]
            value = one_of(rng, wrong[int(rng.integers(len(wrong)))])
        elif values.right and (option == "" or option in verb.needed or rng.random() < 0.3):
            value = one_of(rng, values.right)
        else:
            continue
        if option:
            line += [f"{option}={value}"] if rng.random() < 0.5 else [option, value]
        else:
            line += ["--", value] if value.startswith("-") and rng.random() < 0.5 else [value]
    if rng.random() < 0.1:  # the form itself is spoilt as well
        more = one_of(rng, ["--nonsense", "--out", "-x", "\n", "x" * 1000, "☃", "--policies", "-"])
        line.insert(int(rng.integers(len(line) + 1)), more)
    return line


SETTINGS = """[run]
blocks = 1
block_steps = 1
seed = 3
profile = "text"
domain = "cartpole27"
learner = "random"
policies = 2
[domain]
force = 1.0
max_steps = 20
[selector]
epsilon = 0.1
"""
ODD = ["", "0", "-1", "1.5", "nan", "1e400", str(2**63), "true", '"a\\nb"', '"\\u0000"', "[[1], {}]", "{a = 1}"]
ODD += ["1979-05-27", "'''\n\n'''", '"' + "x" * 10_000 + '"', "[" * 50 + "]" * 50]
LINES = ["[run]", "[nonsense]", "[learner]", "[[domain]]", "x = 1", "a.b.c = 1", '"" = 1', "run = 3", "# \x01", "="]


def settings_file(rng: np.random.Generator) -> bytes:
    """A good file with something changed, or cut off: what is needed comes last, so no life is long."""
    lines = SETTINGS.splitlines()
    place = int(rng.integers(len(lines)))
    kind = int(rng.integers(5))
    if kind == 0 and "=" in lines[place]:
        lines[place] = f"{lines[place].split('=')[0]}= {one_of(rng, ODD)}"
    elif kind == 1:
        lines.insert(place, one_of(rng, LINES))
    elif kind == 2:
        lines.insert(place, lines[int(rng.integers(len(lines)))])
    text = bytearray("\n".join(lines).encode())
    if kind == 3:
        text = text[: int(rng.integers(len(text)))]
    elif kind == 4:
        for _ in range(int(rng.integers(1, 4))):
            text[int(rng.integers(len(text)))] = int(rng.integers(256))
    return bytes(text)


# --------------------------------------------------------------------------------------------------- what is true


class Overseer:
    """Notes every file or folder that Python code makes while it looks."""

    def __init__(self) -> None:
        self.made: list[str] | None = None
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.made is None:
            return
        if event == "open" and isinstance(arguments[0], (str, bytes)):
            if arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self.made.append(os.path.abspath(os.fsdecode(arguments[0])))
        elif event in ("os.mkdir", "os.rename", "os.link", "os.symlink"):
            named = arguments[0] if event == "os.mkdir" else arguments[1]
            self.made.append(os.path.abspath(os.fsdecode(named)))

    @contextlib.contextmanager
    def looking(self) -> Iterator[list[str]]:
        self.made = made = []
        try:
            yield made
        finally:
            self.made = None


OVERSEER = Overseer()


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    error: str
    made: list[str]


def run_command(line: list[str]) -> Outcome:
    """The command in this process; whatever but SystemExit escapes it is the test's failure."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", "strict", newline="")
    error = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", newline="")
    with pytest.MonkeyPatch.context() as patch, OVERSEER.looking() as made, at_most(SECONDS):
        patch.setattr(sys, "argv", ["repertory", *line])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", error)
        with pytest.raises(SystemExit) as stop:
            main()
    texts = []
    for stream in (out, error):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    return Outcome(int(stop.value.code or 0), *texts, made)


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    def too_long(number: int, frame: Any) -> None:
        raise AssertionError(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return Places(tmp_path_factory.mktemp("fuzz"))


@pytest.fixture
def work(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in; `bench` need not begin again, and a dashboard stops at once."""
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES:
        monkeypatch.setenv(name, "1")

    def stop(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("repertory.report.dashboard.time", SimpleNamespace(sleep=stop))
    return tmp_path


def check(line: list[str], allowed: Sequence[Path], statuses: Sequence[int] = (0, 1, 2)) -> int:
    """A status of those expected; for 2 exactly one line, in which nothing moves the cursor; nothing made elsewhere."""
    said = [part if len(part) < 80 else f"{part[:60]}... ({len(part)})" for part in line]
    try:
        outcome = run_command(line)
    except BaseException as fault:
        raise AssertionError(f"{said} escaped") from fault
    assert outcome.status in statuses, (said, outcome)
    if outcome.status == 2:
        assert outcome.error.startswith("repertory: "), (said, outcome)
        assert outcome.error.endswith("\n"), (said, outcome)
        assert outcome.error[:-1].isprintable(), (said, outcome.error)
    elsewhere = [path for path in outcome.made if not any(Path(path).is_relative_to(folder) for folder in allowed)]
    assert not elsewhere, (said, elsewhere)
    return outcome.status


def check_many(seed: int, count: int, places: Places, work: Path) -> None:
    for number in range(count):
        line = command_line(np.random.default_rng([seed, number]), places)
        check(line, (places.folder, work, cache_folder(), Path(os.devnull)))


@pytest.mark.parametrize("seed", range(4))
def test_malformed_command_lines(seed: int, places: Places, work: Path) -> None:
    check_many(seed, 75, places, work)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_malformed_command_lines(seed: int, places: Places, work: Path) -> None:
    check_many(seed, 1000, places, work)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.words)
def test_no_verb_takes_a_folder_or_file_that_cannot_be(verb: Verb, places: Places, work: Path) -> None:
    """Too long, a loop of links, a file in the way: each is refused, and nothing at all is written."""
    kinds = [("", kind) for kind in verb.places] + list(verb.options.items())
    for spoilt, (_option, spoilt_kind) in enumerate(kinds):
        if spoilt_kind not in places.kinds:
            continue
        for wrong in (*places.kinds[spoilt_kind].unreadable, *places.kinds[spoilt_kind].unusable):
            line = [*verb.words.split(), *verb.fixed.split()]
            for index, (option, kind) in enumerate(kinds):
                value = wrong if index == spoilt else next(iter((KINDS | places.kinds)[kind].right), "")
                if index == spoilt or option == "" or option in verb.needed:
                    line += [option, value] if option else [value]
            check(line, [cache_folder()], [2])
    assert not list(work.iterdir())


@pytest.mark.parametrize("line", [[], ["capacity"]])
def test_no_arguments_are_answered_with_help(line: list[str], work: Path) -> None:
    outcome = run_command(line)
    assert (outcome.status, outcome.error) == (2, "")
    assert "Usage" in outcome.out


def check_settings(seed: int, count: int, work: Path) -> None:
    statuses = []
    for number in range(count):
        content = settings_file(np.random.default_rng([seed, number]))
        (work / "run.toml").write_bytes(content)
        statuses.append(check(["run", "--config", "run.toml"], (work, cache_folder())))
    assert statuses.count(2) > count / 2
    assert statuses.count(0) > 0
    assert [file.name for file in work.iterdir()] == ["run.toml"]


def test_malformed_settings_files(work: Path) -> None:
    check_settings(0, 100, work)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 104))
def test_many_malformed_settings_files(seed: int, work: Path) -> None:
    check_settings(seed, 1000, work)


def test_every_value_of_a_settings_file_may_be_odd(work: Path) -> None:
    """Each key with each odd value, whatever its type."""
    lines = SETTINGS.splitlines()
    for place, line in enumerate(lines):
        for value in ODD if "=" in line else ():
            changed = [*lines[:place], f"{line.split('=')[0]}= {value}", *lines[place + 1 :]]
            (work / "run.toml").write_text("\n".join(changed))
            check(["run", "--config", "run.toml"], (work, cache_folder()))


def test_a_message_is_one_line_whatever_was_given() -> None:
    for text in NAMES:
        assert one_line(str(unknown("learner", text, ["dqn"]))).isprintable()
    assert one_line("plain text, ünïcödé ☃") == "plain text, ünïcödé ☃"
    assert one_line("a\nb\tc\x1b\u2028\udcff") == r"a\nb\tc\x1b\u2028\udcff"
    huge = str(unknown("learner", 10**5000, ["dqn"]))
    assert huge == "unknown learner 'a huge number'. Valid: dqn"
    assert len(str(unknown("learner", "x" * 10_000, ["dqn"]))) < SHOWN_LENGTH + 50
