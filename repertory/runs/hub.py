"""A library on the Hugging Face Hub: its file, and a card that says what it is and how to use it."""

from __future__ import annotations

import html
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from repertory import catalogue
from repertory.errors import UsageError, one_line

if TYPE_CHECKING:
    from repertory.runs.saved_library import Library

FILE = "library.npz"
SHOWN_TASKS = 100
"""Rows of a card's table."""


def push(library: Library, repository: str, private: bool, for_training: bool, token: str | None) -> str:
    """Upload a library and its card, making the repository if it is not there; returns its address."""
    try:
        from huggingface_hub import HfApi
    except ImportError as error:
        raise UsageError(f"the Hub cannot be reached ({error}); next: pip install 'repertory[hub]'") from None
    with tempfile.TemporaryDirectory() as folder:
        library.save(Path(folder) / FILE, for_training)
        (Path(folder) / "README.md").write_text(card(library, repository))
        api = HfApi(token=token, library_name="repertory")
        try:
            address = api.create_repo(repository, private=private, exist_ok=True)
            api.upload_folder(repo_id=repository, folder_path=folder, commit_message=f"Upload the {library!r}")
        except Exception as error:  # its client's errors have no class in common
            raise UsageError(
                f"cannot push to {repository}: {one_line(str(error))[:300]}; next: check the name (USER/NAME), the "
                "network and 'hf auth login'"
            ) from error
    return str(address)


def card(library: Library, repository: str) -> str:
    """The page of a library in Markdown."""
    settings = library.settings
    domain, learner = settings["domain"]["name"], settings["learner"]["name"]
    tags = ["reinforcement-learning", "lifelong-learning", domain, learner]
    lines = ["---", "library_name: repertory", "tags:", *(f"- {json.dumps(tag)}" for tag in tags), "---", ""]
    lines += [f"# {_text(repr(library))}", ""]
    lines += [
        f"{len(library.policies)} {_text(learner)} policies, trained by repertory for {settings['blocks']} blocks of "
        f"{settings['block_steps']} steps; the selector {_text(settings['selector']['name'])} chose who played.",
        "",
        "```python",
        "import repertory",
        "from huggingface_hub import hf_hub_download",
        "",
        f'library = repertory.load(hf_hub_download("{repository}", "{FILE}"){_own(library)})',
        "action = library.policy_for(task=0).predict(observation)",
        "```",
        "",
        "The file holds arrays and JSON, no code.",
        "",
        "| task | policy | share of its last episodes |",
        "|---|---|---|",
    ]
    rows = library.table().to_numpy().tolist()
    for task, policy, share in rows[:SHOWN_TASKS]:
        played = "never came |" if policy < 0 else f"{policy} | {share:.0%}"
        lines.append(f"| {_text(task)} | {played} |")
    if len(rows) > SHOWN_TASKS:
        lines += ["", f"And {len(rows) - SHOWN_TASKS} tasks more."]
    return "\n".join([*lines, "", "All settings:", "", "```json", json.dumps(settings, indent=2), "```", ""])


def _own(library: Library) -> str:
    """What a user has to give to `load` besides the file."""
    parts = [
        part for part in ("domain", "learner") if library.settings[part]["name"] not in catalogue.names(f"{part}s")
    ]
    return "".join(f", {part}=..." for part in parts)


def _text(text: object) -> str:
    """For a line of Markdown: no markup, no cell's end."""
    return html.escape(one_line(str(text)), quote=False).replace("|", "\\|")
