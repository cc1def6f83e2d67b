"""Checkpoints: everything that decides a lifetime's future, in one file of arrays and JSON. No pickle.

A checkpoint is an .npz archive. Its member `meta` holds JSON: what is not an array, and a checksum of every array. A
new one is written under a temporary name, flushed to the disk, read back and compared before it takes the place of
the last one, which becomes the previous one. So there is always a good one, whenever a process dies.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.runs.provenance import MadeBy, this_code
from repertory.runs.reading import OtherFormat, Unreadable, build, check_format, parse_json

FORMAT = 2
META = "meta"
LONGEST_META = 256 * 2**20
"""Bytes of JSON: a row for each of millions of blocks at most."""


class Checkpoint(NamedTuple):
    """Arrays by name, and plain values."""

    arrays: dict[str, NDArray[Any]]
    values: dict[str, Any]
    made_by: MadeBy = MadeBy()


class DamagedCheckpoint(Exception):
    """A file that is not a checkpoint, or not a whole one; the message says which and why. One that another version
    wrote is not damaged: that is `OtherFormat`."""


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint at `path`; the old one becomes `previous_path(path)`."""
    temporary = _write_part(path, checkpoint)
    if path.exists():
        os.replace(path, previous_path(path))
    os.replace(temporary, path)
    _flush_folder(path.parent)


def write_file(path: Path, checkpoint: Checkpoint) -> None:
    """Write a file of the same kind, without a previous one."""
    os.replace(_write_part(path, checkpoint), path)


def _write_part(path: Path, checkpoint: Checkpoint) -> Path:
    """Under a temporary name, flushed, read back and compared."""
    temporary = path.with_name(path.name + ".part")
    try:
        with temporary.open("wb") as file:
            _save(file, checkpoint)
            file.flush()
            os.fsync(file.fileno())
        read_checkpoint(temporary)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def read_checkpoint(path: Path) -> Checkpoint:
    """A checkpoint whose every array has been compared with its checksum."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(archive)
            meta = parse_json(_content(archive, members.pop(META), LONGEST_META), path)
            check_format(meta, FORMAT, path)  # before anything else of it is believed
            arrays = {name: _array(archive, member) for name, member in members.items()}
        expected, values = meta["checksums"], meta["values"]
        maker = build(MadeBy, meta.get("made_by", {}), path)
        if not isinstance(values, dict):
            raise ValueError("its values are not an object")
    except (FileNotFoundError, OtherFormat):
        raise
    except Unreadable as error:
        raise DamagedCheckpoint(f"{path} is damaged ({error.reason})") from None
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, NotImplementedError) as error:
        reason = f"no '{error.args[0]}' in it" if isinstance(error, KeyError) else error
        raise DamagedCheckpoint(f"{path} is damaged ({reason})") from None
    if checksums(arrays) != expected:
        raise DamagedCheckpoint(f"{path} is damaged (its content does not match its checksums)")
    return Checkpoint(arrays, values, maker)


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """By name, without the ending; each as long as it says, so that a small file cannot ask for all memory."""
    length = os.fstat(archive.fp.fileno()).st_size  # type: ignore[union-attr]
    members = {}
    for member in archive.infolist():
        if member.compress_type != zipfile.ZIP_STORED or not 0 <= member.file_size == member.compress_size <= length:
            raise ValueError(f"'{member.filename[:60]}' in it is not stored as it is")
        members[member.filename.removesuffix(".npy")] = member
    return members


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo, longest: int) -> bytes:
    if member.file_size > longest:
        raise ValueError(f"'{member.filename[:60]}' in it is too long")
    return _array(archive, member).tobytes()


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """An array whose header says no more than the file holds; never objects, which would have to be unpickled."""
    with archive.open(member) as file:
        try:
            version = np.lib.format.read_magic(file)
            read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            shape, _is_fortran, dtype = read_header[version](file)
        except Exception as error:  # the header is parsed as Python: nonsense in it raises whatever a parser can
            raise ValueError(f"'{member.filename[:60]}' in it has no good header ({type(error).__name__})") from None
        if dtype.hasobject or math.prod(shape) * dtype.itemsize != member.file_size - file.tell():
            raise ValueError(f"'{member.filename[:60]}' in it is not the array that its header says")
    with archive.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def previous_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}-previous{path.suffix}")


def checksums(arrays: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """Of each array's kind, shape and content."""
    return {name: _checksum(array) for name, array in arrays.items()}


def _checksum(array: NDArray[Any]) -> str:
    digest = hashlib.sha256(f"{array.dtype.descr}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)  # no copy: memories are large
    return digest.hexdigest()


def _save(file: Any, checkpoint: Checkpoint) -> None:
    meta = {
        "format": FORMAT,
        "made_by": this_code().as_dict(),
        "values": checkpoint.values,
        "checksums": checksums(checkpoint.arrays),
    }
    encoded = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    arrays: dict[str, Any] = {META: encoded, **checkpoint.arrays}
    np.savez(file, **arrays)


def _flush_folder(folder: Path) -> None:
    """Make the renames last, where the system can: Windows opens no folders."""
    with contextlib.suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
