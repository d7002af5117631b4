"""One run of an experiment, and where it came from."""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailormix.experiments.experiment import CONDUCT, DEFAULTS
from tailormix.experiments.shifts import judge_shifts
from tailormix.methods import METHODS
from tailormix.ranks import first_rank
from tailormix.training import run_folder
from tailormix.training.progress import silent, tensorboard

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tailormix.experiments.experiment import Experiment
    from tailormix.training.progress import Reporter


PACKAGES = ("tailormix", "torch", "lightning-fabric", "torchmetrics", "numpy", "scipy", "scikit-learn")


def provenance() -> dict[str, Any]:
    """Versions of Python and of the packages that matter, and the commit of a source checkout."""
    found = {package: _version(package) for package in PACKAGES}
    return {"versions": {"python": platform.python_version(), **found}, "commit": commit()}


def commit() -> str | None:
    """The commit of the checkout this code runs from, with ``+changes`` where it was edited; else None."""
    here = Path(__file__).resolve().parent
    named = _git(here, "rev-parse", "HEAD")
    tracked = named and _git(here, "ls-files", "--error-unmatch", Path(__file__).name)
    if not tracked:  # installed, or inside somebody else's repository
        return None
    return f"{named}+changes" if _git(here, "status", "--porcelain", "--untracked-files=no") else named


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def run_experiment(
    experiment: Experiment, path: Path, *, report: Reporter = silent, with_tensorboard: bool = False
) -> dict[str, Any]:
    """Train and judge into ``path``: goes on where an earlier run stopped; a finished one is not repeated."""
    run_folder.prepare(path)
    with contextlib.ExitStack() as stack:
        if first_rank():
            stack.enter_context(run_folder.locked(path))
            keep_record(experiment, path)
        if done := run_folder.read_json(path / run_folder.RESULT):
            return judge_shifts(experiment, path, done)
        reporters = [report]
        if with_tensorboard and first_rank():
            reporters.append(stack.enter_context(tensorboard(path / "tensorboard")))

        def tell(row: Mapping[str, Any], epochs: int) -> None:
            for reporter in reporters:
                reporter(row, epochs)

        return judge_shifts(experiment, path, _trained(experiment, path, tell))


def _trained(experiment: Experiment, path: Path, report: Reporter) -> dict[str, Any]:
    from tailormix.experiments.building import build
    from tailormix.training.loop import make_fabric, run

    fabric = make_fabric(experiment.training)
    facts = {
        "seed": experiment.training.seed,
        "method": experiment.method.name,
        "batches_in_memory": batches_in_memory(METHODS[experiment.method.name].passes),
    }
    return run(
        fabric,
        lambda: build(experiment, fabric.device),
        experiment.training,
        path,
        report=report,
        facts=facts,
    )


def keep_record(experiment: Experiment, path: Path) -> None:
    """Write the resolved experiment with versions and commit; a folder that holds another one is refused."""
    asked = json.loads(json.dumps(experiment.flat()))
    del asked["also"]  # tables that share a run ask for different ones; the result names what was judged
    found = run_folder.read_json(path / run_folder.EXPERIMENT)
    if found is None:
        run_folder.write_json(path / run_folder.EXPERIMENT, {"experiment": asked, **provenance()})
        return
    there = {**DEFAULTS, **found.get("experiment", {})}
    differ = [key for key in asked if key not in CONDUCT and asked[key] != there.get(key)]
    if differ:
        changes = ", ".join(f"{key} {there.get(key)!r} instead of {asked[key]!r}" for key in differ)
        raise run_folder.RunError(f"{path} holds another experiment ({changes}): choose another --out")


def run_name(experiment: Experiment) -> str:
    """The folder of all seeds of an experiment, whichever table asks for it.

    >>> from tailormix.experiments import read
    >>> run_name(read("moons"))
    'moons-mlp-sk-mixup-...'
    """
    parts = (experiment.data.name, experiment.model.name, experiment.method.name, fingerprint(experiment))
    return "-".join(parts).replace(":", "-").replace("/", "-")


def fingerprint(experiment: Experiment) -> str:
    """Eight letters that tell experiments apart; seed, conduct and defaults do not count.

    A setting that a later version adds, left at its default, does not make old runs strange.
    """
    values = {
        key: value
        for key, value in experiment.flat().items()
        if key not in (*CONDUCT, "seed") and value != DEFAULTS.get(key)
    }
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]


def batches_in_memory(passes: str) -> int:
    """How many batches a step holds at once for its gradient (METHODS' ``passes``).

    Partners do not count, wherever they come from: the blend is written over their copy before the network
    sees it. The paper counts C-Mixup's, which come from the training set, as a second batch.

    >>> batches_in_memory("n + 3n"), batches_in_memory("n + n without gradient")
    (4, 1)
    """
    terms = [term.strip() for term in passes.split("+")]
    counted = (term.removesuffix("n") or "1" for term in terms if "without" not in term)
    return sum(int(count) for count in counted)
