"""What README and the pages of docs/ say is true: their code runs, prints what is shown, and their commands exist."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

import repertory
from repertory import catalogue
from repertory.cli import app

DOCS = Path(__file__).parent.parent / "docs"
README = "../README.md"
PAGES = [README, *sorted(path.name for path in DOCS.glob("*.md"))]
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NEEDED = re.compile(r"^% needs (\w+)\n+\Z", re.MULTILINE)
NUMBER = re.compile(r"[-+]?\d[\d.,]*(e[-+]?\d+)?|\bNaN\b")


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str
    line: int
    """Of the page, on which its text begins."""
    needs: str | None
    """The package without which it cannot run: a comment `% needs NAME` stands before it."""


def blocks(page: str) -> Iterator[Block]:
    content = (DOCS / page).read_text()
    for match in FENCE.finditer(content):
        needed = NEEDED.search(content[: match.start()])
        line = content.count("\n", 0, match.start(2)) + 1
        yield Block(match[1], match[2], line, needed and needed[1])


def code_blocks(page: str) -> list[tuple[Block, str | None]]:
    """The blocks to run, each with the output that is shown right after it."""
    found = list(blocks(page))
    followers = [*found[1:], None][: len(found)]  # a page may have no block at all
    return [
        (block, after.text if after is not None and after.language == "text" else None)
        for block, after in zip(found, followers, strict=True)
        if block.language == "python"
    ]


@pytest.mark.parametrize("page", [page for page in PAGES if code_blocks(page)])
def test_the_code_of_a_page_runs_and_prints_what_is_shown(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All blocks in one namespace, as if they were a script. Numbers may differ, words may not."""
    monkeypatch.chdir(tmp_path)
    # A real file, whose lines are those of the page: a run folder's fingerprint of own code reads it, and so do
    # tracebacks.
    script = tmp_path / f"{Path(page).stem}_page.py"
    lines = [""] * len((DOCS / page).read_text().splitlines())
    for block, _shown in code_blocks(page):
        code = block.text.splitlines()
        lines[block.line - 1 : block.line - 1 + len(code)] = code
    script.write_text("\n".join(lines) + "\n")
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(script.stem, script))  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, script.stem, module)
    for block, shown in code_blocks(page):
        if block.needs is not None and importlib.util.find_spec(block.needs) is None:
            continue
        exec(compile("\n" * (block.line - 1) + block.text, str(script), "exec"), vars(module))
        printed = capsys.readouterr().out
        if shown is not None:
            assert words(printed) == words(shown), f"{page}, line {block.line}, prints:\n{printed}"


def words(text: str) -> list[str]:
    return NUMBER.sub("#", text).split()


def commands(page: str) -> Iterator[list[str]]:
    for block in blocks(page):
        if block.language in ("", "sh", "bash"):
            for line in block.text.replace("\\\n", " ").splitlines():
                if line.startswith("repertory "):
                    yield [part for part in shlex.split(line, comments=True)[1:] if part != "..."]


@pytest.mark.parametrize("page", [page for page in PAGES if list(commands(page))])
def test_the_commands_of_a_page_exist(page: str) -> None:
    for arguments in commands(page):
        command: Any = typer.main.get_command(app)
        while hasattr(command, "commands"):
            assert arguments[0] in command.commands, f"{page}: repertory {shlex.join(arguments)}"
            command, arguments = command.commands[arguments[0]], arguments[1:]
        command.make_context(command.name, list(arguments))  # raises for options that there are not


def test_the_pages_build_without_warnings(tmp_path: Path) -> None:
    for package in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(package, reason=f"{package} is missing; next: pip install 'repertory[docs]'")
    build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", str(tmp_path / "trees")]
    built = subprocess.run([*build, str(DOCS), str(tmp_path / "html")], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr


def test_readme_and_its_page_name_everything_that_there_is() -> None:
    pages = {"domains": "tasks.md", "learners": "learners.md", "selectors": "selectors.md", "agents": "agents.md"}
    readme = (DOCS / README).read_text()
    for kind, page in pages.items():
        for name in catalogue.BUILT_IN[kind]:
            if name != "library":  # what there is without asking
                assert name in readme, name
            assert name in (DOCS / page).read_text(), (name, page)


def test_the_reference_has_every_public_name() -> None:
    named = set(re.findall(r"\w+", (DOCS / "api.md").read_text()))
    assert set(repertory.__all__) - {"__version__"} <= named
