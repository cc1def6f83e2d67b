"""`repertory dashboard`: the report page, served on this machine alone and refreshed while runs go on.

Read-only: it answers GET for the page and its content, writes nothing, and listens on 127.0.0.1.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from repertory.errors import UsageError, one_line
from repertory.report.page import page_content, render
from repertory.report.sections import chapters
from repertory.sweeps.results import read_results

ADDRESS = "127.0.0.1"
REFRESH = 3.0
"""Seconds between two requests of the page."""


class DashboardServer(ThreadingHTTPServer):
    """Serves the present state of a folder of results."""

    daemon_threads = True

    def __init__(self, path: Path, port: int, refresh: float = REFRESH) -> None:
        self.problems = read_results(path).problems  # what fails does so here, not in the browser
        self.refresh = refresh
        self._path = path
        self._lock = threading.Lock()
        self._state: Any = None
        self._content = ""
        try:
            super().__init__((ADDRESS, port), _Handler)
        except (OSError, OverflowError) as error:
            raise UsageError(f"cannot listen on port {port} ({error}); choose another --port, or 0 for any") from None

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_address[1]}/"

    def data(self) -> str:
        """The page's content as JSON; made again only when a run has changed."""
        with self._lock:
            state = _fingerprint(self._path)
            if state != self._state:
                try:
                    results = read_results(self._path)
                    content = page_content(results, chapters(results, with_slow=False))
                    self._content = json.dumps(content, allow_nan=False)
                    self._state = state
                except UsageError as reason:  # a file is being replaced, or the runs are gone
                    if not self._content:
                        raise
                    return json.dumps({**json.loads(self._content), "notice": f"not refreshed: {reason}"})
            return self._content


def _fingerprint(path: Path) -> Any:
    files = [*path.rglob("blocks.parquet"), *path.rglob("done"), *path.rglob("run.json")]
    stamps = []
    for file in sorted(files):
        try:
            stamps.append((str(file), file.stat().st_mtime_ns))
        except OSError:  # gone since
            continue
    return stamps


class _Handler(BaseHTTPRequestHandler):
    server: DashboardServer
    server_version = "repertory"

    def do_GET(self) -> None:
        """Answer; a mistake of the user's is named in the answer, a fault of ours is raised as well."""
        try:
            self._get()
        except UsageError as reason:
            self._answer(one_line(str(reason)).encode(), "text/plain; charset=utf-8", 503)
        except ConnectionError:  # the browser has gone
            return
        except Exception as fault:
            self._answer(f"a fault of the dashboard: {fault!r}".encode(), "text/plain; charset=utf-8", 500)
            raise

    def _get(self) -> None:
        path = self.path.split("?", 1)[0]
        if self.headers.get("Host", "").split(":")[0] not in (ADDRESS, "localhost"):
            self.send_error(403)  # a page from elsewhere that gave this address another name
        elif path in ("/", "/index.html"):
            page = render(json.loads(self.server.data()), live_every=self.server.refresh)
            self._answer(page.encode(errors="backslashreplace"), "text/html; charset=utf-8")
        elif path == "/data.json":
            self._answer(self.server.data().encode(), "application/json")
        else:
            self.send_error(404)

    def _answer(self, content: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: the console is the user's."""


def serve(path: Path, port: int, say: Callable[[str], None]) -> None:
    """Serve until interrupted."""
    with DashboardServer(path, port) as server:
        for problem in server.problems:
            say(f"left out: {problem}")
        say(f"{server.url} shows {path}; Ctrl-C stops it")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            while True:
                time.sleep(1)
        except KeyboardInterrupt:
            server.shutdown()
