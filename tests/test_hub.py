"""A library goes to the Hub: by a stand-in of its client, and by the client to a stand-in of the Hub."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import repertory
from repertory.errors import UsageError
from repertory.runs.hub import card


@pytest.fixture(scope="module")
def library() -> repertory.Library:
    return repertory.live("cartpole27", repertory.DQN(), 2, blocks=3, block_steps=100).library()


def test_the_client_is_given_the_file_and_the_card(
    library: repertory.Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    class HfApi:
        def __init__(self, *, token=None, library_name=None) -> None:
            calls.append(("login", token))

        def create_repo(self, repo_id, *, private=None, exist_ok=False) -> str:
            calls.append(("create", repo_id, private, exist_ok))
            return f"https://hub.example/{repo_id}"

        def upload_folder(self, *, repo_id, folder_path, commit_message) -> None:
            for file in Path(folder_path).iterdir():
                (tmp_path / file.name).write_bytes(file.read_bytes())
            calls.append(("upload", repo_id))

    module = ModuleType("huggingface_hub")
    module.HfApi = HfApi  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
    assert library.push_to_hub("me/carts", private=True, token="secret") == "https://hub.example/me/carts"
    assert calls == [("login", "secret"), ("create", "me/carts", True, True), ("upload", "me/carts")]
    loaded = repertory.load(tmp_path / "library.npz")
    assert np.array_equal(loaded.assignment, library.assignment, equal_nan=True)
    assert (tmp_path / "README.md").read_text() == card(library, "me/carts")

    def refuse(self, repo_id, **options) -> str:
        raise RuntimeError("401\nUnauthorized")

    monkeypatch.setattr(HfApi, "create_repo", refuse)
    with pytest.raises(UsageError, match=r"cannot push to me/carts: 401\\nUnauthorized; next: check the name"):
        library.push_to_hub("me/carts")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UsageError, match=r"pip install 'repertory\[hub\]'"):
        library.push_to_hub("me/carts")


def test_a_card_says_what_the_library_is(library: repertory.Library) -> None:
    text = card(library, "me/carts")
    head, body = text.split("---\n")[1:3]
    assert "library_name: repertory" in head
    assert '- "cartpole27"' in head
    assert f"# {library!r}" in body
    assert 'repertory.load(hf_hub_download("me/carts", "library.npz"))' in body
    rows = re.findall(r"^\| (?!task|-)(.*) \|.*\|.*\|$", body, re.MULTILINE)
    assert len(rows) == 27
    assert body.count("never came") == int((library.table()["policy"] < 0).sum())
    assert json.loads(body.split("```json")[1].split("```")[0]) == library.settings
    own = repertory.Library(
        library.policies, library.assignment, library.settings | {"domain": {"name": "mine | <b>\n---"}}
    )
    text = card(own, "me/own")
    assert '"library.npz"), domain=...)' in text
    assert "of mine \\| &lt;b&gt;" in text
    assert '- "mine | <b>\\n---"' in text


class Hub(BaseHTTPRequestHandler):
    """As much of the Hub as an upload of small files needs."""

    files: dict[str, bytes]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/api/repos/create":
            assert self.headers["Authorization"] == "Bearer hf_standin"
            asked = json.loads(body)
            self.answer({"url": f"http://{self.headers['Host']}/me/{asked['name']}", "name": f"me/{asked['name']}"})
        elif "/preupload/" in self.path:
            paths = [file["path"] for file in json.loads(body)["files"]]
            self.answer({"files": [{"path": p, "uploadMode": "regular", "shouldIgnore": False} for p in paths]})
        elif "/commit/" in self.path:
            for line in body.splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    self.files[entry["value"]["path"]] = base64.b64decode(entry["value"]["content"])
            self.answer({"commitUrl": f"http://{self.headers['Host']}/me/carts/commit/abc", "commitOid": "abc"})
        else:
            self.answer({})

    def do_GET(self) -> None:
        self.answer({"id": "me/carts", "siblings": [], "sha": "abc"})

    def answer(self, content: dict[str, object]) -> None:
        encoded = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    def log_message(self, *arguments: object) -> None:
        """Quietly."""


@pytest.fixture
def hub() -> Iterator[tuple[str, dict[str, bytes]]]:
    Hub.files = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", Hub.files
    server.shutdown()
    server.server_close()


@pytest.mark.skipif(find_spec("huggingface_hub") is None, reason="huggingface_hub is missing: repertory[hub]")
def test_the_client_uploads_a_library_that_can_be_loaded(
    library: repertory.Library, hub: tuple[str, dict[str, bytes]], tmp_path: Path
) -> None:
    address, files = hub
    library.save(tmp_path / "here.npz")
    code = (
        "import repertory\n"
        f"library = repertory.load({str(tmp_path / 'here.npz')!r})\n"
        "print(library.push_to_hub('me/carts', token='hf_standin'))\n"
    )
    environment = os.environ | {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path), "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"{address}/me/carts"
    assert set(files) == {"library.npz", "README.md"}
    (tmp_path / "there.npz").write_bytes(files["library.npz"])
    loaded = repertory.load(tmp_path / "there.npz")
    observation = np.array([0.01, 0.1, -0.02, 0.0], np.float32)
    for ours, theirs in zip(library.policies, loaded.policies, strict=True):
        assert np.array_equal(ours.action_probabilities(observation), theirs.action_probabilities(observation))
