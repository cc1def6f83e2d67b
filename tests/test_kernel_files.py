"""Files of compiled kernels: whatever is wrong with one costs a compilation, and nobody else's are ever loaded."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from repertory.kernels.cache import cache_folder
from repertory.kernels.compile import kernel
from repertory.kernels.own_files import NotOwn, make_own_folder, read_own

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
VICTIM, ATTACKER = 54321, 54322
"""Users that this system need not know."""


def double(x: float) -> float:
    return 2.0 * x


def half(x: float) -> float:
    return 0.5 * x


RIGHT = (8.0, 2.0)
KEY = slice(32, 64)
"""Its place in a file, after the checksum."""


def compute() -> tuple[tuple[float, ...], tuple[int, ...]]:
    """What kernels give that were never called before, and how many of each were found kept."""
    kernels: list[Any] = [kernel(double), kernel(half)]
    results = tuple(each(4.0) for each in kernels)
    return results, tuple(sum(each.stats.cache_hits.values()) for each in kernels)


def summed(key: bytes, pickled: bytes) -> bytes:
    return hashlib.sha256(key + pickled).digest() + key + pickled


class Runs:
    """A pickle that makes a file when it is loaded."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder, with two kernels in it, in a process that has not warned of anything."""
    chosen = tmp_path / "cache"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(chosen))
    monkeypatch.setattr("repertory.kernels.cache._warned", set())
    assert compute() == (RIGHT, (0, 0))
    assert compute() == (RIGHT, (1, 1))
    return chosen


def swap(files: list[Path]) -> None:
    first, second = (file.read_bytes() for file in files)
    files[0].write_bytes(second)
    files[1].write_bytes(first)


def make_folders(files: list[Path]) -> None:
    for file in files:
        file.unlink()
        file.mkdir()


def make_pipes(files: list[Path]) -> None:
    for file in files:
        file.unlink()
        os.mkfifo(file)


def cut(files: list[Path]) -> None:
    files[0].write_bytes(files[0].read_bytes()[:-100])
    files[1].write_bytes(b"")


def fill_with_nonsense(files: list[Path]) -> None:
    for file, nonsense in zip(files, (b"nonsense", pickle.dumps(("nonsense",) * 9)), strict=True):
        file.write_bytes(summed(file.read_bytes()[KEY], nonsense))


@pytest.mark.parametrize("harm", [swap, make_folders, make_pipes, cut, fill_with_nonsense])
def test_a_bad_file_costs_a_compilation(harm: Any, folder: Path, recwarn: pytest.WarningsRecorder) -> None:
    files = sorted(folder.iterdir())
    harm(files)
    assert compute() == (RIGHT, (0, 0))
    assert [str(each.message)[:29] for each in recwarn] == ["a kept kernel cannot be used "] * (
        harm is fill_with_nonsense
    )
    assert sorted(folder.iterdir()) == files, "no half of a file stays behind"
    assert compute() == (RIGHT, (0, 0) if harm is make_folders else (1, 1))


def test_a_folder_is_made_for_its_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "cache"
    previous = os.umask(0)
    try:
        make_own_folder(folder)
    finally:
        os.umask(previous)
    assert [oct(each.stat().st_mode & 0o777) for each in (folder, folder.parent)] == ["0o700", "0o700"]


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
def test_a_folder_that_others_may_write_to_is_refused(mode: int, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    make_own_folder(folder)
    folder.chmod(mode)
    with pytest.raises(NotOwn, match=f"others may write to {folder}"):
        make_own_folder(folder)


def test_so_is_one_whose_place_others_may_give_to_another(tmp_path: Path) -> None:
    above = tmp_path / "above"
    make_own_folder(above / "cache")
    above.chmod(0o777)
    with pytest.raises(NotOwn, match=f"others may write to {above}"):
        make_own_folder(above / "cache")
    above.chmod(0o1777)  # as /tmp: they may add to it, and that is all
    make_own_folder(above / "cache")


def test_links_of_ones_own_are_followed_and_what_they_lead_through_is_checked(tmp_path: Path) -> None:
    lax = tmp_path / "lax"
    make_own_folder(lax / "cache")
    (tmp_path / "second").symlink_to("lax")
    (tmp_path / "first").symlink_to(tmp_path / "sub" / ".." / "second" / "cache")
    (tmp_path / "sub").mkdir()
    make_own_folder(tmp_path / "first")
    lax.chmod(0o777)
    with pytest.raises(NotOwn, match=f"others may write to {lax}"):
        make_own_folder(tmp_path / "first")


@pytest.mark.parametrize(("members", "is_private"), [([], True), (["me"], True), (["me", "somebody"], False)])
def test_a_group_may_write_if_the_user_is_alone_in_it(
    members: list[str], is_private: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = tmp_path.stat().st_gid
    monkeypatch.setattr("pwd.getpwuid", lambda user: SimpleNamespace(pw_name="me", pw_gid=group))
    monkeypatch.setattr("grp.getgrgid", lambda group: SimpleNamespace(gr_name="me", gr_mem=members))
    make_own_folder(tmp_path / "cache")
    (tmp_path / "cache").chmod(0o770)
    with nullcontext() if is_private else pytest.raises(NotOwn):
        make_own_folder(tmp_path / "cache")


def test_a_circle_of_links_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    for folder in (tmp_path / "circle", tmp_path / "circle" / "cache"):
        with pytest.raises(OSError, match="circle"):
            make_own_folder(folder)


def test_a_file_is_read_if_it_is_one_and_others_may_not_write_to_it(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    file.chmod(0o600)
    assert read_own(file) == b"content"
    (tmp_path / "link").symlink_to(file)
    assert read_own(tmp_path / "link") is None
    assert read_own(tmp_path) is None
    assert read_own(tmp_path / "missing") is None
    file.chmod(0o666)
    assert read_own(file) is None


def test_nothing_is_asked_of_a_system_that_does_not_know_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("getuid", "geteuid", "O_NOFOLLOW", "O_NONBLOCK"):  # Windows has none of these
        monkeypatch.delattr(os, name)
    for module in ("grp", "pwd"):
        monkeypatch.setitem(sys.modules, module, None)
    assert compute() == (RIGHT, (1, 1))


WITHOUT = """
import importlib, os, pkgutil, sys
for name in ("sched_getaffinity", "getuid", "geteuid", "getloadavg", "fork", "killpg"):
    delattr(os, name)
for module in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[module] = None
import repertory.benchmarks, repertory.kernels
for package in (repertory.benchmarks, repertory.kernels):
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
        print(module.name)
"""


def test_kernels_and_benchmarks_import_without_what_only_some_systems_have() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {"cache", "machine"} < set(done.stdout.split())


def test_there_is_no_folder_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    assert cache_folder() is not None
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # what it gives where there is none
    assert cache_folder() is None


def test_a_folder_that_cannot_be_made_costs_compilations_and_one_warning(
    folder: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(next(folder.iterdir()) / "below a file"))
    assert compute() == (RIGHT, (0, 0))
    assert len(recwarn) == 1
    assert "not kept on disk" in str(recwarn[0].message)
    assert "NUMBA_CACHE_DIR" in str(recwarn[0].message)


Keys = dict[str, bytes]
"""The key in each file, by its name."""


@pytest.fixture
def keys(folder: Path) -> Keys:
    """Anybody can find them out: they are the same for all users of a machine."""
    return {file.name: file.read_bytes()[KEY] for file in folder.iterdir()}


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder like /tmp, in which everybody may make files."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


def give(path: Path, user: int) -> Path:
    """Let a folder and all in it belong to a user."""
    for each in (path, *path.rglob("*")):
        os.chown(each, user, user, follow_symlinks=False)
    return path


def trap(folder: Path, keys: Keys, mark: Path) -> Path:
    """A folder of files that have all that a kept kernel has, and run something of their author's."""
    folder.mkdir(parents=True, mode=0o755)
    for name, key in keys.items():
        (folder / name).write_bytes(summed(key, pickle.dumps(Runs(mark))))
        (folder / name).chmod(0o644)
    return folder


def in_the_victims_own_folder(shared: Path, keys: Keys, mark: Path) -> dict[str, str | None]:
    return {"NUMBA_CACHE_DIR": str(give(trap(shared / "cache", keys, mark), VICTIM))}


def where_a_user_without_a_home_used_to_keep_them(shared: Path, keys: Keys, mark: Path) -> dict[str, str | None]:
    trap(shared / f"user-{VICTIM}" / "repertory" / "kernels", keys, mark)
    give(shared / f"user-{VICTIM}", ATTACKER)
    return {"NUMBA_CACHE_DIR": None, "XDG_CACHE_HOME": None, "HOME": None, "TMPDIR": str(shared)}


def in_the_folder_that_the_victim_names(shared: Path, keys: Keys, mark: Path) -> dict[str, str | None]:
    return {"NUMBA_CACHE_DIR": str(give(trap(shared / "cache", keys, mark), ATTACKER))}


def in_the_victims_folder_that_all_may_write_to(shared: Path, keys: Keys, mark: Path) -> dict[str, str | None]:
    folder = give(trap(shared / "cache", keys, mark), VICTIM)
    folder.chmod(0o777)
    return {"NUMBA_CACHE_DIR": str(folder)}


def in_the_victims_folder_by_files_of_the_attackers(shared: Path, keys: Keys, mark: Path) -> dict[str, str | None]:
    folder = give(trap(shared / "cache", keys, mark), ATTACKER)
    os.chown(folder, VICTIM, VICTIM)
    return {"NUMBA_CACHE_DIR": str(folder)}


def behind_a_link_to_what_the_victim_unpacked(shared: Path, keys: Keys, mark: Path) -> dict[str, str | None]:
    """The attacker's files may well belong to the victim, who took them out of an archive."""
    give(trap(shared / "unpacked", keys, mark), VICTIM)
    link = shared / "cache"
    link.symlink_to("unpacked")
    give(link, ATTACKER)
    return {"NUMBA_CACHE_DIR": str(link)}


def behind_links_in_the_victims_folder(shared: Path, keys: Keys, mark: Path) -> dict[str, str | None]:
    unpacked, folder = trap(shared / "unpacked", keys, mark), shared / "cache"
    folder.mkdir(mode=0o700)
    for file in unpacked.iterdir():
        (folder / file.name).symlink_to(file)
    give(unpacked, VICTIM)
    give(folder, VICTIM)
    return {"NUMBA_CACHE_DIR": str(folder)}


# What Numba loads on first use is loaded before, as the user we are: another one may not be allowed to read it.
AS_ANOTHER = """
import importlib, json, os, sys
from repertory.kernels.dispatcher import way
user, folder, module = sys.argv[1:]
sys.path.append(folder)
compute = importlib.import_module(module).compute  # under the same name, which is part of the key
way()
os.setgroups([])
os.setgid(int(user))
os.setuid(int(user))
print(json.dumps([compute(), compute()]))
"""


def compute_twice_as(user: int, variables: dict[str, str | None]) -> tuple[list[Any], int]:
    """What another user's process computes, and how many warnings it gives."""
    environment = {name: value for name, value in (os.environ | variables).items() if value is not None}
    command = [sys.executable, "-c", AS_ANOTHER, str(user), str(Path(__file__).parent), __name__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr.count("Warning")


@pytest.mark.skipif(not AS_ROOT, reason="only root can be two users; next: run the tests as root, in a container")
class TestAnotherUser:
    def test_the_trap_works(self, keys: Keys, shared: Path) -> None:
        """What is in a user's own folder is loaded: without that, the test below would show nothing."""
        mark = shared / "mark"
        compute_twice_as(VICTIM, in_the_victims_own_folder(shared, keys, mark))
        assert mark.exists()

    def test_nothing_is_made_where_somebody_elses_link_leads(self, shared: Path) -> None:
        (shared / "ours").mkdir()
        (shared / "link").symlink_to("ours")
        give(shared / "link", ATTACKER)
        with pytest.raises(NotOwn, match=f"{shared / 'link'} belongs to user {ATTACKER}"):
            make_own_folder(shared / "link" / "cache")
        assert list((shared / "ours").iterdir()) == []

    @pytest.mark.parametrize(
        "plant",
        [
            where_a_user_without_a_home_used_to_keep_them,
            in_the_folder_that_the_victim_names,
            in_the_victims_folder_that_all_may_write_to,
            behind_a_link_to_what_the_victim_unpacked,
        ],
    )
    def test_a_folder_that_an_attacker_can_have_filled_is_not_used(self, plant: Any, keys: Keys, shared: Path) -> None:
        mark = shared / "mark"
        computed, warnings = compute_twice_as(VICTIM, plant(shared, keys, mark))
        assert not mark.exists()
        assert computed == [[[8.0, 2.0], [0, 0]]] * 2
        assert warnings == 1

    @pytest.mark.parametrize(
        "plant", [in_the_victims_folder_by_files_of_the_attackers, behind_links_in_the_victims_folder]
    )
    def test_an_attackers_files_in_ones_own_folder_are_replaced(self, plant: Any, keys: Keys, shared: Path) -> None:
        mark = shared / "mark"
        computed, warnings = compute_twice_as(VICTIM, plant(shared, keys, mark))
        assert not mark.exists()
        assert computed == [[[8.0, 2.0], [0, 0]], [[8.0, 2.0], [1, 1]]]
        assert warnings == 0
