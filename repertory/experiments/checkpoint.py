"""Checkpoints: everything that decides a lifetime's future, in one file of arrays and JSON. No pickle.

A checkpoint is an .npz archive. Its member `meta` holds JSON: what is not an array, and a checksum of every array. A
new one is written under a temporary name, flushed to the disk, read back and compared before it takes the place of
the last; the one before that is kept, so that there is always a good one, whatever moment a process dies at.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FORMAT = 1


class Checkpoint(NamedTuple):
    """Arrays by name, and plain values."""

    arrays: dict[str, NDArray[Any]]
    values: dict[str, Any]


class DamagedCheckpoint(Exception):
    """A file that is no checkpoint, or not a whole one; the message says which and why."""


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint at `path`; the old one becomes `previous_path(path)`."""
    temporary = _write_part(path, checkpoint)
    if path.exists():
        os.replace(path, previous_path(path))
    os.replace(temporary, path)
    _flush_folder(path.parent)


def write_file(path: Path, checkpoint: Checkpoint) -> None:
    """Write a file of the same kind that has no predecessor to keep."""
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
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        meta = json.loads(arrays.pop("meta").tobytes())
        if meta["format"] != FORMAT:
            raise DamagedCheckpoint(f"{path} has format {meta['format']}, this version reads {FORMAT}")
        expected, values = meta["checksums"], meta["values"]
    except DamagedCheckpoint:
        raise
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, NotImplementedError) as error:
        raise DamagedCheckpoint(f"{path} is damaged ({error})") from None
    if checksums(arrays) != expected:
        raise DamagedCheckpoint(f"{path} is damaged (its content does not match its checksums)")
    return Checkpoint(arrays, values)


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
    meta = {"format": FORMAT, "values": checkpoint.values, "checksums": checksums(checkpoint.arrays)}
    encoded = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    arrays: dict[str, Any] = {"meta": encoded, **checkpoint.arrays}
    np.savez(file, **arrays)


def _flush_folder(folder: Path) -> None:
    """Make the renames last, where the system can."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
