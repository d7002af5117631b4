"""Checkpoint files, and modules and optimisers as the tensors in them.

``last`` and ``previous`` hold a run's whole state, ``best-N`` the weights of the best epoch that one of them
names. A checksum over all bytes detects a damaged file, and the one before it takes its place. A file that is
there but cannot be read, on a lost mount for example, is an error: it may be whole. No pickle.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open

from tailormix.atomic import write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor, nn, optim


LAST, PREVIOUS, NEW = "last.safetensors", "previous.safetensors", "new.safetensors"
FORMAT = 1


class CheckpointError(RuntimeError):
    """A checkpoint could not be read or written."""


class DamagedCheckpointError(CheckpointError):
    """The content of a checkpoint is not what was written."""


@dataclass(frozen=True)
class Checkpoint:
    """Tensors by name, and everything else as a value for JSON."""

    tensors: Mapping[str, Tensor]
    facts: Mapping[str, Any]


def write(path: Path, checkpoint: Checkpoint) -> None:
    """Write one file atomically, flushed to the disk before it takes its name."""
    tensors = {name: tensor.detach().contiguous().cpu() for name, tensor in checkpoint.tensors.items()}
    facts = json.dumps(checkpoint.facts)
    metadata = {"format": str(FORMAT), "facts": facts, "checksum": checksum(tensors, facts)}
    write_atomically(path, safetensors.torch.save(tensors, metadata))


def read(path: Path) -> Checkpoint:
    """Read one file.

    Raises ``FileNotFoundError`` if there is none, :class:`CheckpointError` if the system cannot read it, and
    :class:`DamagedCheckpointError` if any byte of it is not what was written.
    """
    try:
        _read_through(path)
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = error.strerror or error
        raise CheckpointError(f"cannot read {path} ({reason}); nothing was changed") from error
    except (SafetensorError, RuntimeError) as error:
        raise DamagedCheckpointError(f"{path} is damaged: {error}") from error
    if metadata.get("format") != str(FORMAT):
        raise DamagedCheckpointError(f"{path} must have format {FORMAT}, got {metadata.get('format')}")
    facts = metadata.get("facts", "")
    if metadata.get("checksum") != checksum(tensors, facts):
        raise DamagedCheckpointError(f"{path} is damaged: its checksum is not that of its content")
    return Checkpoint(tensors, json.loads(facts))


def _read_through(path: Path) -> None:
    """Read every byte: what the system cannot read would end a process that maps it into memory."""
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass


def checksum(tensors: Mapping[str, Tensor], facts: str) -> str:
    """BLAKE2b over names, types, shapes and bytes of all tensors, and over the facts."""
    digest = hashlib.blake2b(facts.encode(), digest_size=16)
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def save(folder: Path, checkpoint: Checkpoint) -> Path:
    """Make ``checkpoint`` the last one; the one that was last becomes the previous one.

    Whatever fails on the way, at least one whole checkpoint stays under one of the two names.
    """
    new, last = folder / NEW, folder / LAST
    write_or_explain(new, checkpoint)
    try:
        if last.exists():
            last.replace(folder / PREVIOUS)
        new.replace(last)
        _flush(folder)
    except OSError as error:
        raise _unwritten(folder, error) from error
    return last


def write_or_explain(path: Path, checkpoint: Checkpoint) -> None:
    """:func:`write`; a full disk or a lost permission names the checkpoint that is still good."""
    try:
        write(path, checkpoint)
    except OSError as error:
        raise _unwritten(path.parent, error) from error


def _unwritten(folder: Path, error: OSError) -> CheckpointError:
    return CheckpointError(
        f"cannot write a checkpoint into {folder} ({error.strerror}); "
        f"last good checkpoint: {newest(folder) or 'none'}"
    )


def newest(folder: Path) -> Path | None:
    """The file of the newest checkpoint; None before the first."""
    return next((folder / name for name in (LAST, PREVIOUS) if is_there(folder / name)), None)


def is_there(path: Path) -> bool:
    """Whether a file exists; where the system cannot tell, its error and not a No."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def latest(folder: Path) -> Checkpoint | None:
    """The newest whole checkpoint, None before the first.

    One that is damaged is skipped with a warning; where no other is left, :class:`DamagedCheckpointError`.
    """
    damaged: list[DamagedCheckpointError] = []
    for name in (LAST, PREVIOUS):
        try:
            found = read(folder / name)
            _check_best(folder, found)
        except FileNotFoundError:
            continue
        except DamagedCheckpointError as error:
            damaged.append(error)
        else:
            for each in damaged:
                warnings.warn(f"{each}; falling back to the checkpoint before it", stacklevel=2)
            return found
    if damaged:
        reasons = "; ".join(map(str, damaged))
        raise DamagedCheckpointError(
            f"no checkpoint in {folder} is whole ({reasons}): --force starts anew and moves this run aside"
        )
    return None


def best_file(folder: Path, epoch: int) -> Path:
    """The file with the weights of the best epoch."""
    return folder / f"best-{epoch}.safetensors"


def drop_old_bests(folder: Path, keep: set[int]) -> None:
    """Remove the best weights that no checkpoint refers to any more."""
    needed = {best_file(folder, epoch) for epoch in keep}
    for path in folder.glob("best-*.safetensors"):
        if path not in needed and re.fullmatch("best-[0-9]+", path.stem):
            path.unlink(missing_ok=True)


def remove_orphans(folder: Path) -> None:
    """Remove what a kill left between two writes: a checkpoint without its name, best weights of none."""
    needed = set()
    for name in (LAST, PREVIOUS):
        with contextlib.suppress(FileNotFoundError, DamagedCheckpointError):
            needed.add(read(folder / name).facts.get("best_epoch", 0))
    drop_old_bests(folder, needed)
    (folder / NEW).unlink(missing_ok=True)


def _check_best(folder: Path, found: Checkpoint) -> None:
    """A checkpoint is only as good as the best weights it refers to."""
    if epoch := found.facts.get("best_epoch"):
        best = best_file(folder, epoch)
        try:
            read(best)
        except FileNotFoundError as error:
            raise DamagedCheckpointError(f"{best}, which a checkpoint refers to, is missing") from error


def _flush(folder: Path) -> None:
    """Flush the folder itself, so that the new names survive a power cut (where the system can do that)."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under ``prefix.name``."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of that prefix, without it.

    >>> sorted(under("a", {"a.x": torch.zeros(1), "b.x": torch.zeros(1)}))
    ['x']
    """
    start = f"{prefix}."
    return {name[len(start) :]: value for name, value in tensors.items() if name.startswith(start)}


def module_tensors(module: object) -> dict[str, Tensor]:
    """Weights and buffers of a module, each copied; nothing for a criterion that is a plain function."""
    if not isinstance(module, torch.nn.Module):
        return {}
    return {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}


def load_module(module: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy tensors into a module; the names must be exactly those of its state."""
    if tensors or module.state_dict():
        module.load_state_dict(dict(tensors), strict=True)


def optimiser_tensors(optimiser: optim.Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """State of an optimiser: tensors by ``parameter.key``, and the rest for JSON."""
    state = optimiser.state_dict()["state"]
    tensors: dict[str, Tensor] = {}
    rest: dict[str, Any] = {}
    for parameter, values in state.items():
        for key, value in values.items():
            if isinstance(value, torch.Tensor):
                tensors[f"{parameter}.{key}"] = value
            else:
                rest[f"{parameter}.{key}"] = value
    return tensors, rest


def load_optimiser(
    optimiser: optim.Optimizer, tensors: Mapping[str, Tensor], rest: Mapping[str, Any]
) -> None:
    """Restore what :func:`optimiser_tensors` returned; learning rates and the like stay as configured."""
    state: dict[int, dict[str, Any]] = {}
    for name, value in {**tensors, **rest}.items():
        parameter, _, key = name.partition(".")
        state.setdefault(int(parameter), {})[key] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
