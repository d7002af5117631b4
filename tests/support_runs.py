"""Run folders as ``tailormix train`` leaves them, made without training."""

import json
from pathlib import Path
from typing import Any

import torch

from support_metrics import classifier, regressor
from tailormix.calibration import TemperatureScaling, VarianceScaling
from tailormix.calibration.predictions import Predictions, save_predictions
from tailormix.training.evaluating import apply_calibrator, describe, measure

VERSIONS = {"versions": {"python": "3.11.7", "torch": "2.13.0"}, "commit": "0123abc"}


def make_run(path: Path, method: str | dict[str, Any] = "erm", seed: int = 0, **settings: Any) -> Path:
    """A finished run; ``settings`` go over its experiment's, ``task`` and ``scale`` shape its answers.

    ``class_names`` are written into the folder where they are given.
    """
    names = settings.pop("class_names", None)
    task, scale = settings.pop("task", "classification"), settings.pop("scale", 2.0)
    seconds, epochs = settings.pop("seconds", 0.5), settings.get("epochs", 3)
    named = {"name": method} if isinstance(method, str) else method
    experiment = {
        "summary": "a test",
        "data": {"name": "digits" if task == "classification" else "airfoil"},
        "model": {"name": "mlp"},
        "method": named,
        "epochs": epochs,
        "batch": 64,
        "seed": seed,
        **settings,
    }
    path.mkdir(parents=True)
    evaluated = _evaluated(path, task, seed, scale)
    result = {
        "seed": seed,
        "method": named["name"],
        "batches_in_memory": 1,
        "data": {"name": experiment["data"]["name"], "task": task, "fingerprints": {"test": "f00d" * 16}},
        "selection": {"split": "validation", "rule": "a rule", "score": 0.5},
        "best_epoch": epochs,
        **evaluated,
    }
    write(path / "experiment.json", {"experiment": experiment, **VERSIONS})
    write(path / "result.json", result)
    if names is not None:
        write(path / "model.json", {"class_names": list(names)})
    metrics = {"accuracy": 0.5, "nll": 1.0, "ece": 0.1} if task == "classification" else {"mse": 2.0}
    rows = [
        {"epoch": e, "lr": 0.1, "loss": 1 / e, "validation": metrics, "seconds": 9.0 if e == 1 else seconds}
        for e in range(1, epochs + 1)
    ]
    (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _evaluated(path: Path, task: str, seed: int, scale: float) -> dict[str, Any]:
    """Predictions of both splits, and the metrics of the test split."""
    if task == "regression":
        mean, std, targets = regressor(200, seed=seed)
        test = Predictions(mean=mean, std=scale * std, targets=targets, ids=torch.arange(200), split="test")
        save_predictions(path / "predictions.npz", test)
        scaling = VarianceScaling().fit(mean, scale * std, targets)
        scaling.save(path / "calibrator.json")
        after = measure(apply_calibrator(scaling, test))
        return {
            "test": {"before": measure(test), "after variance scaling": after},
            "variance": describe(scaling),
        }
    logits, targets = classifier(300, seed=seed, scale=scale)
    ids = torch.arange(300)
    parts = {"validation": ids[:100], "test": ids[100:]}
    found = {
        name: Predictions(logits=logits[rows], targets=targets[rows], ids=rows, split=name)
        for name, rows in parts.items()
    }
    save_predictions(path / "predictions.npz", found["test"])
    scaling = TemperatureScaling().fit(found["validation"])
    after = measure(scaling.transform(found["test"]))
    return {
        "test": {"before": measure(found["test"]), "after temperature": after},
        "temperature": describe(scaling),
    }


def write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value))


def change(path: Path, **values: Any) -> None:
    """Put values into a run's result; None removes a key."""
    result = json.loads((path / "result.json").read_text())
    result = {key: value for key, value in {**result, **values}.items() if value is not None}
    write(path / "result.json", result)
