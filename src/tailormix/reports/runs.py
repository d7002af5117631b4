"""Finished runs, read from their folders."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailormix.calibration.predictions import load_predictions
from tailormix.metrics.classification import SampleStatistics, sample_statistics
from tailormix.metrics.inputs import RegressionInputs, classification_inputs, regression_inputs
from tailormix.training import run_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


PREDICTIONS = "predictions.npz"
#: files and folders that only a run has
RUN_FILES = (run_folder.EXPERIMENT, run_folder.RESULT, run_folder.METRICS, run_folder.CHECKPOINTS)
RESULT_KEYS = ("seed", "method", "data", "test", "batches_in_memory")
SECTIONS = ("data", "model", "method")
#: keys of an experiment that may differ between runs of the same experiment
RUN_KEYS = ("seed", "summary", "workers", "checkpoint_every")


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run.

    Attributes:
        path: its folder.
        experiment: the settings with the keys of an experiment file.
        result: ``result.json``.
        history: one row per epoch.
        provenance: versions and commit.
        rows: statistics per test point of a classifier, before and, if there is one, after temperature.
        spread: mean, standard deviation and target per test point of a regression.

    """

    path: Path
    experiment: dict[str, Any]
    result: dict[str, Any]
    history: tuple[dict[str, Any], ...]
    provenance: dict[str, Any]
    rows: tuple[SampleStatistics, ...] = field(default=(), repr=False)
    spread: RegressionInputs | None = field(default=None, repr=False)

    @property
    def task(self) -> str:
        """``"classification"`` or ``"regression"``."""
        return str(self.result["data"]["task"])

    @property
    def seed(self) -> int:
        """Of weights, order and mixing."""
        return int(self.result["seed"])

    def key(self, *names: str) -> str:
        """Text that is equal for runs with the same settings (of those named), whatever their seed."""
        chosen = {key: self.experiment.get(key) for key in names or self.experiment if key not in RUN_KEYS}
        return json.dumps(chosen, sort_keys=True)


@dataclass(frozen=True)
class Skipped:
    """A folder that cannot be reported, and why."""

    path: Path
    reason: str


def read_runs(places: Iterable[Path]) -> tuple[list[Run], list[Skipped]]:
    """Read all runs among and below ``places``; unfinished, broken and repeated ones are skipped."""
    runs: dict[tuple[str, int], Run] = {}
    skipped: dict[Path, Skipped] = {}
    for place in places:
        paths = find_runs([place])
        if not paths:
            skipped[place] = Skipped(place, "no run in it" if place.is_dir() else "no folder")
        for path in paths:
            try:
                run = read_run(path)
                first = runs.setdefault((run.key(), run.seed), run)
            except (ValueError, TypeError, KeyError, OSError, run_folder.RunError) as error:
                reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
                skipped[path] = Skipped(path, reason)
                continue
            if first.path.resolve() != path.resolve():  # a copy would count as a further seed
                skipped[path] = Skipped(path, f"same experiment and seed as {first.path}")
    return list(runs.values()), list(skipped.values())


def find_runs(places: Iterable[Path]) -> list[Path]:
    """Every run folder among and below ``places``, each once, in the order of their names.

    Below a place, runs that ``train --force`` moved aside do not count.
    """
    found: dict[Path, Path] = {}
    for place in places:
        for path in _run_folders(place):
            found.setdefault(path.resolve(), path)
    return list(found.values())


def _run_folders(place: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(place):
        if any(name in files or name in folders for name in RUN_FILES):
            folders.clear()
            yield Path(here)
        folders[:] = sorted(name for name in folders if not run_folder.is_aside(Path(name)))


def read_run(path: Path) -> Run:
    """Read one finished run; raises with a reason if it is not one."""
    record = run_folder.read_json(path / run_folder.EXPERIMENT)
    result = run_folder.read_json(path / run_folder.RESULT)
    history = read_history(path / run_folder.METRICS)
    if record is None:
        raise ValueError(f"broken: there is no {run_folder.EXPERIMENT}")
    experiment = dict(record["experiment"])
    for key in SECTIONS:
        if not isinstance(experiment.get(key), dict) or "name" not in experiment[key]:
            raise ValueError(f"broken: {run_folder.EXPERIMENT} has no name of the {key}")
    if result is None:
        total = experiment.get("epochs", "?")
        raise ValueError(f"unfinished: {len(history)} of {total} epochs; the same command resumes it")
    for key in RESULT_KEYS:
        if key not in result:
            raise ValueError(f"broken: {run_folder.RESULT} has no {key!r}")
    provenance = {key: record.get(key) for key in ("versions", "commit")}
    return Run(path, experiment, result, history, provenance, **_test_points(path, result))


def read_history(path: Path) -> tuple[dict[str, Any], ...]:
    """The epochs of ``metrics.jsonl``; none if the file does not exist.

    >>> read_history(Path("no such file"))
    ()
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return ()
    try:
        rows = tuple(json.loads(line) for line in lines)
    except ValueError as error:
        raise ValueError(f"broken: {path.name} is not JSON, line by line ({error})") from error
    for row in rows:
        if not isinstance(row, dict) or not {"epoch", "loss", "seconds"} <= row.keys():
            raise ValueError(f"broken: {path.name} has a line without epoch, loss or seconds")
    return rows


def _test_points(path: Path, result: dict[str, Any]) -> dict[str, Any]:
    """Statistics of the test points, which take far less memory than the logits."""
    test = load_predictions(path / PREDICTIONS)
    if test.task != result["data"]["task"]:
        raise ValueError(f"broken: {PREDICTIONS} holds a {test.task}, not a {result['data']['task']}")
    if test.task == "regression":
        return {"spread": regression_inputs(test.mean, test.targets, test.std)}
    stages = [classification_inputs(test.outputs, test.targets, from_logits=test.from_logits)]
    if "after temperature" in result["test"]:
        stages.append(replace(stages[0], temperature=float(result["temperature"]["value"])))
    return {"rows": tuple(sample_statistics(stage) for stage in stages)}
