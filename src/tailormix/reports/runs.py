"""Folders that ``tailormix train`` made: found at any depth, read whole, or named with what is wrong."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailormix.metrics.inputs import classified
from tailormix.metrics.regressed import Regressed, regressed
from tailormix.metrics.rows import Rows, identity, read
from tailormix.prediction_files import load_predictions
from tailormix.training import folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PREDICTIONS = "predictions.npz"
#: what only a run has in its folder
SIGNS = (folder.EXPERIMENT, folder.RESULT, folder.METRICS, folder.CHECKPOINTS)
NEEDED = ("seed", "method", "data", "test", "batches_in_memory")
SECTIONS = ("data", "model", "method")
#: keys that do not make another experiment: which seed, and how the work was carried out
APART = ("seed", "summary", "workers", "checkpoint_every")


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run: its settings, result and epochs, and what each test point says before and after.

    Attributes:
        path: its folder.
        experiment: the settings with the keys of an experiment file.
        result: ``result.json``.
        history: one row an epoch.
        provenance: versions and commit.
        rows: statistics of each test point of a classifier, before and, if there is one, after temperature.
        spread: mean, standard deviation and target of each test point of a regression.

    """

    path: Path
    experiment: dict[str, Any]
    result: dict[str, Any]
    history: tuple[dict[str, Any], ...]
    provenance: dict[str, Any]
    rows: tuple[Rows, ...] = field(default=(), repr=False)
    spread: Regressed | None = field(default=None, repr=False)

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
        chosen = {key: self.experiment.get(key) for key in names or self.experiment if key not in APART}
        return json.dumps(chosen, sort_keys=True)


@dataclass(frozen=True)
class Skipped:
    """A folder that cannot be reported, and why."""

    path: Path
    reason: str


def find_runs(places: Iterable[Path]) -> list[Path]:
    """Every run folder among and below ``places``, each once, in the order of their names."""
    found: dict[Path, Path] = {}
    for place in places:
        for path in _below(place):
            found.setdefault(path.resolve(), path)
    return list(found.values())


def _below(place: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(place):
        if any(sign in files or sign in folders for sign in SIGNS):
            folders.clear()
            yield Path(here)
        folders.sort()


def read_runs(places: Iterable[Path]) -> tuple[list[Run], list[Skipped]]:
    """Read all runs; those that are unfinished or broken are named instead."""
    runs, skipped = [], []
    for place in places:
        paths = find_runs([place])
        if not paths:
            skipped.append(Skipped(place, "no run in it" if place.is_dir() else "no folder"))
        for path in paths:
            try:
                runs.append(read_run(path))
            except (ValueError, TypeError, KeyError, OSError, folder.RunError) as error:
                skipped.append(Skipped(path, _reason(error)))
    kept, repeated = _once(runs)
    return kept, list(dict.fromkeys(skipped)) + repeated


def _once(runs: Iterable[Run]) -> tuple[list[Run], list[Skipped]]:
    """Each experiment and seed once: a copy would count as a further seed."""
    kept: dict[tuple[str, int], Run] = {}
    repeated = []
    for run in {run.path.resolve(): run for run in runs}.values():
        first = kept.setdefault((run.key(), run.seed), run)
        if first is not run:
            repeated.append(Skipped(run.path, f"same experiment and seed as {first.path}"))
    return list(kept.values()), repeated


def _reason(error: Exception) -> str:
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)


def read_run(path: Path) -> Run:
    """Read one finished run; raises with a reason if it is not one."""
    record, result = folder.read_json(path / folder.EXPERIMENT), folder.read_json(path / folder.RESULT)
    history = read_history(path / folder.METRICS)
    if record is None:
        raise ValueError(f"broken: there is no {folder.EXPERIMENT}")
    experiment = dict(record["experiment"])
    for key in SECTIONS:
        if not isinstance(experiment.get(key), dict) or "name" not in experiment[key]:
            raise ValueError(f"broken: {folder.EXPERIMENT} has no name of the {key}")
    if result is None:
        total = experiment.get("epochs", "?")
        raise ValueError(f"unfinished: {len(history)} of {total} epochs; the same command goes on from there")
    for key in NEEDED:
        if key not in result:
            raise ValueError(f"broken: {folder.RESULT} has no {key!r}")
    provenance = {key: record.get(key) for key in ("versions", "commit")}
    return Run(path, experiment, result, history, provenance, **_points(path, result))


def read_history(path: Path) -> tuple[dict[str, Any], ...]:
    """The epochs of ``metrics.jsonl``; a file that is not there has none.

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


def _points(path: Path, result: dict[str, Any]) -> dict[str, Any]:
    """Statistics of the test points; far smaller than the logits, which are let go again."""
    test = load_predictions(path / PREDICTIONS)
    if test.task != result["data"]["task"]:
        raise ValueError(f"broken: {PREDICTIONS} holds a {test.task}, not a {result['data']['task']}")
    if test.task == "regression":
        return {"spread": regressed(test.mean, test.targets, test.std)}
    views = [identity]
    if "after temperature" in result["test"]:
        temperature = float(result["temperature"]["value"])
        views.append(lambda logits: logits / temperature)
    given = classified(test.outputs, test.targets, from_logits=test.from_logits)
    return {"rows": tuple(read(given, views))}
