"""Classifiers of other packages beside our networks, on the same rows, calibrated and measured alike."""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tailormix.calibration.predictions import Predictions, save_predictions
from tailormix.experiments.building import load_data
from tailormix.experiments.record import check_execution, write_record
from tailormix.studies.study import REFERENCES
from tailormix.training import run_folder
from tailormix.training.evaluating import FILES, calibrated_metrics, shift_metrics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tailormix.data.splits import Split
    from tailormix.studies.study import Run

SMALLEST = 1e-12  # probability whose logarithm is taken: trees may say 0


def build(name: str, options: Mapping[str, Any], seed: int) -> Any:
    """The classifier of that name.

    >>> build("hist-gradient-boosting", {"max_iter": 5}, seed=0)
    HistGradientBoostingClassifier(max_iter=5, random_state=0)
    """
    module, kind, fixed = REFERENCES[name]
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f'reference {name} needs a package: pip install "tailormix[study]" ({error})'
        ) from error
    try:
        return getattr(found, kind)(**{**fixed, **options, "random_state": seed})
    except TypeError as error:
        raise TypeError(f"reference {name}: {error}") from error


def classifier(run: Run, task: str) -> Any:
    """The classifier of a run, untrained; its options may have dots before, like ``trees.max_iter``."""
    name = str(run.row.reference)
    if task != "classification":
        raise ValueError(f"reference {name} is for classes, and {run.data} has real targets")
    options = {key.rpartition(".")[2]: value for key, value in run.candidate.items()}
    return build(name, options, run.seed)


def fit(run: Run) -> None:
    """Fit on the training rows, and write predictions and ``result.json`` as a run of ours does."""
    experiment, seed = run.experiment, run.experiment.training.seed
    splits = load_data(experiment)
    model = classifier(run, splits.task)
    started = time.monotonic()
    model.fit(*arrays(splits.train, seed))
    seconds = time.monotonic() - started
    found = {name: answers(model, getattr(splits, name), name, splits.outputs) for name in FILES}
    metrics, calibrator = calibrated_metrics(found, experiment.training)
    if splits.shifts:
        shifted = {name: answers(model, part, name, splits.outputs) for name, part in splits.shifts.items()}
        metrics["shifts"] = shift_metrics(shifted, found["test"], calibrator)
    with run_folder.locked(run_folder.prepare(run.path)):
        for name, predictions in found.items():
            save_predictions(run.path / FILES[name], predictions)
        write_record(experiment, run.path, check_execution(run.path, 1, experiment.training.batch, True))
        facts = {"seed": seed, "reference": run.row.reference, "seconds_total": seconds, "epochs": 1}
        run_folder.write_json(run.path / run_folder.RESULT, {**facts, **metrics})


def arrays(split: Split, seed: int = 0) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """All inputs (n, features) and class indices (n,) of a split; ``seed`` is of its augmentation, if any."""
    x, y = split.batch(torch.arange(len(split)), torch.Generator().manual_seed(seed))
    return x.flatten(1).numpy(), y.numpy()


def answers(model: Any, split: Split, name: str, classes: int) -> Predictions:
    """What the model says of the rows of a split or shifted part."""
    logits = log_probabilities(model, split, classes)
    return Predictions(logits=logits, targets=split.targets, ids=split.ids, split=name)


def log_probabilities(model: Any, split: Split, classes: int) -> torch.Tensor:
    """Log p (n, classes); classes that the training rows do not have keep the smallest probability."""
    found = np.full((len(split), classes), SMALLEST)
    found[:, np.asarray(model.classes_, dtype=int)] = model.predict_proba(arrays(split)[0])
    return torch.from_numpy(found).clamp_min(SMALLEST).log()
