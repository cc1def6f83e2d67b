"""Folders and files that are the user's own work: a kept kernel runs whatever its author put into it.

On a shared machine, others may get at a path before us: they make a folder of that name where everybody may write,
or a link of that name to one. So every folder and link on the way must belong to the user or to the system, nobody
else may write there, and the folder itself and each file must be the user's. Windows keeps the folders of users
apart by itself; there nothing is checked.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from pathlib import Path

MOST_LINKS = 40
"""On one way; more are taken for a circle, as the system does."""


class NotOwn(Exception):
    """Somebody else could have put files there; the message says how."""


def make_own_folder(folder: Path) -> None:
    """Make a folder for this user alone, unless it is there, and make sure that it is. OSError or NotOwn if not."""
    if not _knows_owners():
        folder.mkdir(parents=True, exist_ok=True)
        return
    status = _walk(folder.absolute(), os.geteuid())
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if status.st_uid != os.geteuid():
        raise NotOwn(f"{folder} belongs to user {status.st_uid}")
    if _others_may_write(status, os.geteuid()):
        raise NotOwn(f"others may write to {folder}")


def read_own(path: Path) -> bytes | None:
    """A file of this user's; None if there is none, or if something else has its name."""
    # Never what a link points to, and no waiting for somebody to write into a pipe.
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    try:
        handle = os.open(path, flags)
    except OSError:
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not _is_own(status):
            return None
        with open(handle, "rb", closefd=False) as file:
            return file.read()
    except OSError:
        return None
    finally:
        os.close(handle)


def write_own(path: Path, content: bytes) -> None:
    """A file that only this user can read and write, all of it at once."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _knows_owners() -> bool:
    """Whether the system says whose a file is; Windows does not, in these terms."""
    return hasattr(os, "geteuid")


def _walk(folder: Path, user: int) -> os.stat_result:
    """Go from the root through every folder and link to the last, look at each, and make those that are missing."""
    # In a container that does not know the machine's own users, the system's folders belong to whoever owns "/".
    status = os.lstat("/")
    owners = {user, 0, status.st_uid}
    here, ahead, links = "/", list(folder.parts[:0:-1]), 0
    while ahead:
        name = ahead.pop()
        here = os.path.dirname(here) if name == ".." else os.path.join(here, name)
        status = _look_at_or_make(here)
        if status.st_uid not in owners:
            raise NotOwn(f"{here} belongs to user {status.st_uid}")
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), here)
            target = Path(os.readlink(here))
            here = "/" if target.is_absolute() else os.path.dirname(here)
            ahead += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        elif _others_may_write(status, user) and ahead:
            if not status.st_mode & stat.S_ISVTX:  # where that is set, as on /tmp, nobody can take our names away
                raise NotOwn(f"others may write to {here}")
            owners = {user, 0}
    return status


def _look_at_or_make(path: str) -> os.stat_result:
    with contextlib.suppress(FileNotFoundError):
        return os.lstat(path)
    with contextlib.suppress(FileExistsError):  # another process of ours may be first
        os.mkdir(path, mode=0o700)
    return os.lstat(path)


def _is_own(file: os.stat_result) -> bool:
    if not _knows_owners():
        return True
    return file.st_uid == os.geteuid() and not _others_may_write(file, os.geteuid())


def _others_may_write(status: os.stat_result, user: int) -> bool:
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_private_group(status.st_gid, user)


def _is_private_group(group: int, user: int) -> bool:
    """Whether it is the group that many systems give to each user alone, for which files are then writable."""
    import grp
    import pwd

    try:
        owner, members = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:
        return False
    return group == owner.pw_gid and members.gr_name == owner.pw_name and set(members.gr_mem) <= {owner.pw_name}
