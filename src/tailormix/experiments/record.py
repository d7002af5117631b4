"""The record of a run, ``experiment.json``: what was asked for, how it is executed, and with which versions.

A run resumes only if all that can change its numbers is as it was.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailormix.experiments import plugins
from tailormix.experiments.experiment import DEFAULTS, EXECUTION_KEYS
from tailormix.experiments.parallel import ENGINE_VARIABLE
from tailormix.training import run_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tailormix.experiments.experiment import Experiment


PACKAGES = ("tailormix", "torch", "lightning-fabric", "torchmetrics", "numpy", "scipy", "scikit-learn")


def check_experiment(experiment: Experiment, path: Path) -> None:
    """Raise if a run of another experiment has begun in the folder."""
    wanted, found = _settings(experiment), read_record(path)
    there = {**DEFAULTS, **found.get("experiment", {})} if found else wanted
    differ = [key for key in wanted if key not in EXECUTION_KEYS and wanted[key] != there.get(key)]
    if differ:
        changes = ", ".join(f"{key} {there.get(key)!r} instead of {wanted[key]!r}" for key in differ)
        raise run_folder.RunError(
            f"{path} holds another experiment ({changes}): choose another --out, "
            "or start anew with train --force, which moves that run aside"
        )
    for section, now in _plugins(experiment).items():
        then = found.get("plugins", {}).get(section, {})
        if found and then.get("sha256") != now["sha256"]:
            raise run_folder.RunError(
                f"the code of the {section}, {now['file']}, is not what {path} was started with: "
                "restore it, choose another --out, or start anew with train --force"
            )
    then, now = found.get("data", {}), _data(experiment)
    if then and now and then["sha256"] != now["sha256"]:
        raise run_folder.RunError(
            f"the data in {now['path']} are not what {path} was started with: "
            "restore them, choose another --out, or start anew with train --force"
        )


def check_execution(path: Path, ranks: int, batch: int, allow_other_ranks: bool) -> dict[str, Any]:
    """How the run is executed from here on, for its record.

    Ranks draw apart from each other, so that their number changes the numbers that come out: a run that began
    on another number is refused, unless that is allowed; ``ranks_before`` then tells of it.
    """
    shares = [batch // ranks + (rank < batch % ranks) for rank in range(ranks)]
    engine = "torchrun" if ranks > 1 else os.environ.get(ENGINE_VARIABLE, "local")
    execution = {"ranks": ranks, "batch_per_rank": shares, "engine": engine}
    found = read_record(path).get("execution", {})
    began, before = found.get("ranks", ranks), found.get("ranks_before", [])
    if began == ranks:
        return execution | ({"ranks_before": before} if before else {})
    if not allow_other_ranks:
        raise run_folder.RunError(
            f"{path} was begun by {_processes(began)}, this is {_processes(ranks)}, and other numbers would "
            "come out: resume it as it was begun, or with --allow-other-ranks (the result will say so), or "
            "start anew with train --force"
        )
    return execution | {"ranks_before": [*before, began]}


def _processes(ranks: int) -> str:
    return "1 process" if ranks == 1 else f"{ranks} ranks"


def write_record(experiment: Experiment, path: Path, execution: Mapping[str, Any]) -> None:
    """Write the resolved experiment and how it is executed, with the versions and commit of its beginning."""
    found = record = read_record(path)
    if not found:
        sources = {"plugins": _plugins(experiment), "data": _data(experiment)}
        named = {key: value for key, value in sources.items() if value}
        record = {"experiment": _settings(experiment), **named, **provenance()}
    if found.get("execution") != execution:
        run_folder.write_json(path / run_folder.EXPERIMENT, {**record, "execution": execution})


def read_record(path: Path) -> dict[str, Any]:
    """What the folder's run has recorded; nothing before its first checkpoint: it can be taken over."""
    found = run_folder.read_json(path / run_folder.EXPERIMENT) if run_folder.has_begun(path) else None
    return found or {}


def _settings(experiment: Experiment) -> dict[str, Any]:
    """All settings as JSON has them, but ``also``: tables that share a run ask for different ones."""
    settings: dict[str, Any] = json.loads(json.dumps(experiment.to_dict()))
    return {key: value for key, value in settings.items() if key != "also"}


def _plugins(experiment: Experiment) -> dict[str, dict[str, Any]]:
    """Where the code of each plug-in is, and its checksum, by section."""
    return {section: plugins.record(name) for section, name in experiment.plugins.items()}


def _data(experiment: Experiment) -> dict[str, str]:
    """The file or folder of one's own that the data are read from, and its checksum, where it is there."""
    given = experiment.data.options.get("path")
    if given is None or not (path := Path(given)).exists():
        return {}
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        names = "".join(f"{file.relative_to(path)} {file.stat().st_size}\n" for file in files)
        return {"path": str(given), "sha256": hashlib.sha256(names.encode()).hexdigest()}
    state = path.stat()
    return {"path": str(given), "sha256": _checksum(path.resolve(), state.st_mtime_ns, state.st_size)}


@functools.lru_cache  # a study asks once for each of its runs
def _checksum(path: Path, _changed: int, _size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@functools.cache  # three calls of git; the code in memory stays what it is
def provenance() -> dict[str, Any]:
    """Versions of Python and of the packages that matter, and the commit of a source checkout."""
    versions: dict[str, str | None] = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return {"versions": versions, "commit": commit()}


def commit() -> str | None:
    """The commit of the checkout this code runs from, with ``+changes`` where it was edited; else None."""
    head = _git("rev-parse", "HEAD")
    if not head or not _git("ls-files", "--error-unmatch", Path(__file__).name):
        return None  # installed, or inside somebody else's repository
    return f"{head}+changes" if _git("status", "--porcelain", "--untracked-files=no") else head


def _git(*arguments: str) -> str | None:
    command = ["git", "-C", str(Path(__file__).resolve().parent), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
