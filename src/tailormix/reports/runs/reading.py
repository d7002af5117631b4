"""Finished runs, read from their folders."""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailormix.calibration.predictions import load_predictions
from tailormix.calibration.variance import VarianceScaling
from tailormix.metrics.classification import SampleStatistics, sample_statistics
from tailormix.metrics.inputs import RegressionInputs, classification_inputs, regression_inputs
from tailormix.reports.classes import ClassResults, class_results
from tailormix.training import run_folder
from tailormix.training.evaluating import STAGES, by_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch import Tensor


PREDICTIONS = "predictions.npz"
MODEL = "model.json"
#: files and folders that only a run has
RUN_FILES = (run_folder.EXPERIMENT, run_folder.RESULT, run_folder.METRICS, run_folder.CHECKPOINTS)
#: keys of an experiment that may differ between runs of the same experiment
RUN_KEYS = ("seed", "summary", "workers", "checkpoint_every")
#: what calibrated a run on its validation split: the key of its record, and the stage of its test metrics
CALIBRATED = {
    "classification": ("temperature", "after temperature"),
    "regression": ("variance", "after variance scaling"),
}

#: types that a report relies on; a question mark after a key that may be missing, * for any key
NUMBER, WHOLE, NAME = "a number", "a whole number", "a name"
METRIC, TEXT = "a number or null", "text or null"
KINDS = {
    NAME: (str,),
    NUMBER: (int, float),
    WHOLE: (int,),
    METRIC: (int, float, type(None)),
    TEXT: (str, type(None)),
}
LARGEST = 10**300  # JSON knows larger numbers than floats do
METRICS_TYPE = {"*": {"*": METRIC}}
FITTED_TYPE = {"value": NUMBER, "status?": TEXT, "note?": TEXT, "fitted on?": {"imitates?": TEXT}}
PART_TYPE = {f"{stage}?": {"*": METRIC} for stage in STAGES}
RESULT_TYPE = {
    "seed": WHOLE,
    "method": NAME,
    "data": {"task": NAME, "fingerprints?": {"*": TEXT}},
    "test": METRICS_TYPE,
    "batches_in_memory?": METRIC,
    "best_epoch?": METRIC,
    "selection?": {"rule?": TEXT},
    "shifts?": {"*": {**PART_TYPE, "parts?": {"*": PART_TYPE}}},
    **{f"{key}?": FITTED_TYPE for key, _ in CALIBRATED.values()},
}
NAMED_TYPE = {"name": NAME}
RECORD_TYPE = {
    "experiment": dict.fromkeys(("data", "model", "method"), NAMED_TYPE),
    "versions?": {"*": TEXT},
    "commit?": TEXT,
}
EPOCH_TYPE = {
    "epoch": WHOLE,
    "loss": NUMBER,
    "seconds": NUMBER,
    "validation?": {"*": METRIC},
    "strength?": NUMBER,
}


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
        classes: results per class of a classifier, for the same stages; none for thousands of classes.
        spreads: mean, standard deviation and target per test point of a regression, before and after scaling.
        shifts: metrics of every shifted test part by stage, and those of each kind of corruption.

    """

    path: Path
    experiment: dict[str, Any]
    result: dict[str, Any]
    history: tuple[dict[str, Any], ...]
    provenance: dict[str, Any]
    rows: tuple[SampleStatistics, ...] = field(default=(), repr=False)
    classes: tuple[ClassResults, ...] = field(default=(), repr=False)
    spreads: tuple[RegressionInputs, ...] = field(default=(), repr=False)
    shifts: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict, repr=False)

    @property
    def task(self) -> str:
        """``"classification"`` or ``"regression"``."""
        return str(self.result["data"]["task"])

    @property
    def seed(self) -> int:
        """Of weights, order and mixing."""
        return int(self.result["seed"])

    @property
    def fitted(self) -> dict[str, Any] | None:
        """The record of the temperature or scale that was fitted; None where there is none."""
        return self.result.get(CALIBRATED[self.task][0])

    def stages(self, part: str | None = None) -> dict[str, dict[str, Any]]:
        """Metrics by stage: of the test split, of a shifted part, or of a kind of corruption."""
        return self.result["test"] if part is None else self.shifts.get(part, {})

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
            except (
                ValueError,
                TypeError,
                LookupError,
                ArithmeticError,
                OSError,
                RuntimeError,
                zlib.error,
            ) as error:
                skipped[path] = Skipped(path, str(error) or type(error).__name__)
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
    check_types(record, RECORD_TYPE, run_folder.EXPERIMENT)
    experiment = record["experiment"]
    if result is None:
        total = experiment.get("epochs", "?")
        raise ValueError(f"unfinished: {len(history)} of {total} epochs; the same command resumes it")
    if "reference" in result:
        raise ValueError(f"a reference of a study, {result['reference']}")
    check_types(result, RESULT_TYPE, run_folder.RESULT)
    provenance = {key: record.get(key) for key in ("versions", "commit")}
    points = _test_points(path, result)
    return Run(path, experiment, result, history, provenance, **points, shifts=_shifts(result))


def _shifts(result: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for part, stages in result.get("shifts", {}).items():
        found[part] = {name: metrics for name, metrics in stages.items() if name in STAGES}
        found |= by_kind(stages.get("parts", {}))
    return found


def class_names(path: Path) -> tuple[str, ...]:
    """The names of a run's classes, as its folder has them; none where it does not.

    >>> class_names(Path("no such folder"))
    ()
    """
    names = (run_folder.read_json(path / MODEL) or {}).get("class_names")
    return tuple(map(str, names)) if isinstance(names, list) else ()


def check_types(value: Any, expected: Any, where: str) -> None:
    """Raise where a value read from JSON is not what it must be.

    >>> check_types({"seed": {}}, {"seed": WHOLE}, "result.json")
    Traceback (most recent call last):
    ValueError: broken: seed of result.json must be a whole number, got {}
    """
    if isinstance(expected, dict):
        if not isinstance(value, dict):
            raise ValueError(f"broken: {where} must be an object, got {_shown(value)}")
        for key, kind in expected.items():
            for name in value if key == "*" else [key.removesuffix("?")]:
                if name in value:
                    check_types(value[name], kind, f"{name} of {where}")
                elif not key.endswith("?"):
                    raise ValueError(f"broken: {where} has no {name!r}")
        return
    if isinstance(value, bool) or not isinstance(value, KINDS[expected]):
        raise ValueError(f"broken: {where} must be {expected}, got {_shown(value)}")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(f"broken: {where} must be a smaller number, got {_shown(value)}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 40 else f"{text[:36]} ..."


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
    for number, row in enumerate(rows, start=1):
        check_types(row, EPOCH_TYPE, f"line {number} of {path.name}")
    return rows


def _test_points(path: Path, result: dict[str, Any]) -> dict[str, Any]:
    """Statistics of the test points, which take far less memory than the logits."""
    task = result["data"]["task"]
    if task not in CALIBRATED:
        raise ValueError(
            f"broken: task of {run_folder.RESULT} must be {' or '.join(CALIBRATED)}, got {task!r}"
        )
    test = load_predictions(path / PREDICTIONS)
    if test.task != task:
        raise ValueError(f"broken: {PREDICTIONS} holds a {test.task}, not a {task}")
    key, after = CALIBRATED[task]
    calibrated = after in result["test"]
    if calibrated and key not in result:
        raise ValueError(f"broken: {run_folder.RESULT} has no {key!r}, but metrics {after}")
    if test.task == "regression":
        spread = regression_inputs(test.mean, test.targets, test.std)
        scaled = [_scaled(path / run_folder.CALIBRATOR, spread)] if calibrated else []
        return {"spreads": (spread, *scaled)}
    stages = [classification_inputs(test.outputs, test.targets, from_logits=test.from_logits)]
    if calibrated:
        stages.append(replace(stages[0], temperature=float(result[key]["value"])))
    names = class_names(path)
    classes = [class_results(stage, names) for stage in stages]
    return {
        "rows": tuple(sample_statistics(stage) for stage in stages),
        "classes": tuple(one for one in classes if one is not None),
    }


def _scaled(calibrator: Path, spread: RegressionInputs) -> RegressionInputs:
    """The spread after variance scaling: a factor, and a constant where no spread was predicted."""
    std: Tensor = VarianceScaling.load(calibrator).transform(spread.std)
    return replace(spread, std=std)
