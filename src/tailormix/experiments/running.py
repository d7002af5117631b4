"""One run of an experiment: train, evaluate, and record where the result came from."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailormix.experiments import building, plugins
from tailormix.experiments.experiment import DEFAULTS, EXECUTION_KEYS
from tailormix.experiments.shifts import evaluate_shifts
from tailormix.experiments.trained import save_description
from tailormix.methods import METHODS
from tailormix.training import run_folder
from tailormix.training.loop import make_fabric, run
from tailormix.training.progress import silent, tensorboard

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tailormix.experiments.experiment import Experiment
    from tailormix.training.loop import Setup
    from tailormix.training.progress import Reporter


PACKAGES = ("tailormix", "torch", "lightning-fabric", "torchmetrics", "numpy", "scipy", "scikit-learn")


def run_experiment(
    experiment: Experiment, path: Path, *, report: Reporter = silent, with_tensorboard: bool = False
) -> dict[str, Any]:
    """Train and evaluate into ``path``. A run that was stopped resumes; a finished one is not repeated."""
    run_folder.prepare(path)
    with contextlib.ExitStack() as stack:
        if is_first_rank():
            stack.enter_context(run_folder.locked(path))
            write_experiment(experiment, path)
        result = run_folder.read_json(path / run_folder.RESULT)
        if result is None:
            reporters = [report]
            if with_tensorboard and is_first_rank():
                reporters.append(stack.enter_context(tensorboard(path / "tensorboard")))

            def report_all(row: Mapping[str, Any], epochs: int) -> None:
                for reporter in reporters:
                    reporter(row, epochs)

            result = train_experiment(experiment, path, report_all)
        return evaluate_shifts(experiment, path, result)


def train_experiment(experiment: Experiment, path: Path, report: Reporter) -> dict[str, Any]:
    """Train and evaluate on the experiment's own data."""
    fabric = make_fabric(experiment.training)
    method = experiment.method.name
    passes = METHODS[method].passes if method in METHODS else None  # nobody knows those of a plug-in
    facts = {
        "seed": experiment.training.seed,
        "method": method,
        "batches_in_memory": None if passes is None else batches_in_memory(passes),
    }

    def make() -> Setup:
        setup = building.build(experiment, fabric.device)
        if fabric.is_global_zero:
            save_description(path, experiment, setup.data)
        return setup

    return run(
        fabric,
        make,
        experiment.training,
        path,
        report=report,
        facts=facts,
    )


def write_experiment(experiment: Experiment, path: Path) -> None:
    """Write the resolved experiment with versions and commit; a folder of another experiment is refused."""
    wanted = json.loads(json.dumps(experiment.to_dict()))
    del wanted["also"]  # tables that share a run ask for different ones; the result names what there is
    code = {section: plugins.record(name) for section, name in experiment.plugins.items()}
    found = run_folder.read_json(path / run_folder.EXPERIMENT)
    if found is None:
        record = {"experiment": wanted, **({"plugins": code} if code else {}), **provenance()}
        run_folder.write_json(path / run_folder.EXPERIMENT, record)
        return
    there = {**DEFAULTS, **found.get("experiment", {})}
    differ = [key for key in wanted if key not in EXECUTION_KEYS and wanted[key] != there.get(key)]
    if differ:
        changes = ", ".join(f"{key} {there.get(key)!r} instead of {wanted[key]!r}" for key in differ)
        raise run_folder.RunError(f"{path} holds another experiment ({changes}): choose another --out")
    for section, now in code.items():
        then = found.get("plugins", {}).get(section, {})
        if then.get("sha256") != now["sha256"]:
            raise run_folder.RunError(
                f"the code of the {section}, {now['file']}, is not what {path} was started with: "
                "restore it, or choose another --out"
            )


def is_first_rank() -> bool:
    """Whether this process writes and prints for all that ``torchrun`` started; a single one does."""
    return os.environ.get("RANK", "0") == "0"


def batches_in_memory(passes: str) -> int:
    """How many batches a step holds at once for its gradient (METHODS' ``passes``).

    Partners do not count, wherever they come from: the blend is written over their copy before the network
    sees it. The paper counts C-Mixup's, which come from the training set, as a second batch.

    >>> batches_in_memory("n + 3n"), batches_in_memory("n + n without gradient")
    (4, 1)
    """
    terms = [term.strip() for term in passes.split("+") if "without" not in term]
    return sum(int(term.removesuffix("n") or "1") for term in terms)


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
