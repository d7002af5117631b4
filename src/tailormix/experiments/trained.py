"""A finished run, ready to be used: from raw inputs to calibrated probabilities, or to values with intervals.

The folder of a run holds all that this needs: ``model.json`` (task, names, units, how the model is built),
``preprocessing.safetensors``, the best weights and the calibrator. No training data, and no pickle.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
import torch

from tailormix import calibration, checks
from tailormix.calibration.dropout import predict as predict_with_dropout
from tailormix.calibration.predictions import load_predictions
from tailormix.data.files.location import DataError
from tailormix.data.preprocessing import TablePreprocessing, load_preprocessing, save_preprocessing
from tailormix.data.preprocessing.arrays import read_array
from tailormix.experiments import plugins
from tailormix.experiments.building import build_model, model_arguments
from tailormix.training import checkpoint, run_folder
from tailormix.training.evaluating import FILES, ROWS, forward_batches, has_dropout
from tailormix.training.run_folder import RunError
from tailormix.training.seeding import Stream, derive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor, nn

    from tailormix.data.preprocessing import Preprocessing
    from tailormix.data.splits import DataSplits, Task
    from tailormix.experiments.experiment import Experiment

    Array = np.ndarray[tuple[int, ...], np.dtype[Any]]

MODEL, PREPROCESSING = "model.json", "preprocessing.safetensors"
FORMAT = 1
MOST_NAMED = 8  # runs in a message
_KEYS = {"task": str, "outputs": int, "class_names": list, "model": dict, "samples": int, "seed": int}


class Interval(NamedTuple):
    """Mean, standard deviation and bounds of predictions, each (n,), or (n, outputs) of several."""

    mean: Array
    std: Array
    lower: Array
    upper: Array


@final
@dataclass(frozen=True, eq=False, repr=False)
class TrainedRun:
    """What a run has learned, from its folder alone; :func:`load_run` makes it.

    Inputs X of every method are what the run's data came as: an array or a data frame, or the path of a file
    (``.csv``, ``.tsv``, ``.parquet``, ``.npz``, ``.npy``) or of a folder of images. Series are windows
    (n, window, series).

    Attributes:
        path: folder of the run.
        task: ``classification`` or ``regression``.
        model: the network with its best weights, in evaluation mode.
        preprocessing: raw inputs to inputs of the model.
        calibrator: temperature or variance scaling, fitted on validation; None where there was none to fit.
        class_names: of the outputs of a classifier.
        target_units: (centre, spread) that turn outputs of the model into the units of the results.
        target_scale: what turns those into the user's units; 1 unless the data set has units of its own.
        result: the run's ``result.json``.
        samples, seed: of the passes with dropout.

    """

    path: Path
    task: Task
    model: nn.Module
    preprocessing: Preprocessing
    calibrator: Any
    class_names: tuple[str, ...]
    target_units: tuple[Tensor, Tensor]
    target_scale: Tensor
    result: dict[str, Any]
    samples: int
    seed: int

    def __repr__(self) -> str:
        answers = f"classes {', '.join(self.class_names)}" if self.class_names else "real values"
        name = "nothing" if self.calibrator is None else self.calibrator.kind
        return f"TrainedRun({str(self.path)!r}: {type(self.model).__name__}, {answers}, calibrated by {name})"

    @property
    def classes(self) -> Array:
        """What :meth:`predict` answers with: the class names, or numbers where these are 0 … C - 1."""
        names = np.array(self.class_names)
        numbers = np.arange(len(names))
        return numbers if names.tolist() == [str(number) for number in numbers] else names

    def predict_proba(self, X: Any, *, calibrated: bool = True) -> Array:
        """Probabilities (n, classes), in the order of ``class_names``."""
        self._check_task("classification", "predict_proba", "predict_interval")
        logits = torch.cat(forward_batches(self.model, self._inputs(X))).double().cpu()
        if calibrated and self.calibrator is not None:
            logits = self.calibrator.transform(logits)
        probabilities: Array = logits.softmax(1).numpy()
        return probabilities

    def predict(self, X: Any, *, dropout: bool = True) -> Array:
        """The most probable class of each row (n,), or the predicted values in the user's units.

        Values are means over passes with dropout, if the model has some; else, and with ``dropout=False``,
        those of the plain pass.
        """
        if self.task == "classification":
            chosen: Array = self.classes[self.predict_proba(X).argmax(1)]
            return chosen
        return _one_column(self._moments(X, dropout=dropout)[0])

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, calibrated: bool = True, dropout: bool = True
    ) -> Interval:
        """Values of a regression with intervals that hold the truth with probability ``coverage``.

        The interval is mean ± z · std of a normal law. Mean and standard deviation are those of passes with
        dropout, seeded: the same X gets the same answer. Without dropout, in the model or by
        ``dropout=False``, the standard deviation is one constant, the root mean squared error on validation.
        """
        self._check_task("regression", "predict_interval", "predict_proba")
        if not 0 < checks.number("coverage", coverage) < 1:
            raise ValueError(f"coverage must lie between 0 and 1, got {coverage}")
        mean, std = self._moments(X, calibrated=calibrated, dropout=dropout)
        if not bool((std > 0).any()):
            raise ValueError("no spread is known: without dropout it comes from the calibration alone")
        half = NormalDist().inv_cdf(0.5 + coverage / 2) * std
        return Interval(*map(_one_column, (mean, std, mean - half, mean + half)))

    def _moments(self, X: Any, *, calibrated: bool = True, dropout: bool = True) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation (n, outputs), float64, in the user's units."""
        centre, spread = self.target_units
        if not (dropout and has_dropout(self.model)):
            mean = torch.cat(forward_batches(self.model, self._inputs(X))).double().cpu() * spread + centre
            std = self.constant_std() if calibrated else torch.zeros_like(self.target_scale)
            return mean * self.target_scale, std.expand_as(mean)
        mean, std = self._passes(X)
        mean, std = mean * spread + centre, std * spread
        if calibrated and self.calibrator is not None:
            std = self.calibrator.transform(std)
        return mean * self.target_scale, std * self.target_scale

    def _passes(self, X: Any) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation over passes with dropout; batches have the seeds of the evaluation."""
        found = [
            predict_with_dropout(
                self.model, x, samples=self.samples, seed=derive(self.seed, Stream.DROPOUT, number, 0)
            )
            for number, x in enumerate(self._inputs(X))
        ]
        mean, std = torch.cat([part.mean for part in found]), torch.cat([part.std for part in found])
        return mean.double().cpu(), std.double().cpu()

    def constant_std(self) -> Tensor:
        """One standard deviation per output (outputs,) in the user's units: the root mean squared error.

        That of the split which calibrated; 0 where none did.
        """
        if self.calibrator is None:
            return torch.zeros_like(self.target_scale)
        if self.calibrator.fitted.constant:
            std: Tensor = self.calibrator.transform(torch.zeros(len(self.calibrator.fitted.zero)).double())
            return std * self.target_scale
        stored = load_predictions(_need(self.path, FILES[self.calibrator.provenance.split]))
        error = torch.from_numpy(stored.mean - stored.targets).double().square().mean(0).sqrt()
        return error * self.target_scale

    def _inputs(self, X: Any) -> Iterator[Tensor]:
        """Inputs of the model, in batches of the size that the run was evaluated with."""
        raw = self._read(X)
        if len(raw) == 0:
            raise ValueError("X must have a row or more, got none")
        device = next((p.device for p in self.model.parameters()), torch.device("cpu"))
        return (self.preprocessing(part.to(device)) for part in torch.split(raw, ROWS))

    def _read(self, X: Any) -> Tensor:
        """Raw inputs (n, ...); arrays for a run on a table have its columns in their order."""
        if isinstance(self.preprocessing, TablePreprocessing):
            if isinstance(X, torch.Tensor) and X.shape[1:] == (len(self.preprocessing.columns),):
                return X.double()  # cells as the preprocessing codes them
            if isinstance(X, (str, Path)) and Path(X).suffix in (".npy", ".npz"):
                X = read_array(X)[1]
        return self.preprocessing.read(X)

    def _check_task(self, task: Task, asked: str, other: str) -> None:
        if self.task != task:
            raise ValueError(f"{asked} is for {task}, and {self.path} is a {self.task}: use {other}")


def _one_column(values: Tensor) -> Array:
    """As an array; a single output without its axis."""
    found: Array = values.numpy()
    return found[:, 0] if found.shape[1] == 1 else found


def save_description(path: Path, experiment: Experiment, splits: DataSplits) -> None:
    """Write what :func:`load_run` needs besides weights and calibrator, which training writes."""
    units, scale, name = splits.target_units, splits.target_scale, experiment.model.name
    arguments = model_arguments(experiment, splits)
    arguments.pop("pretrained", None)  # of timm: a run has weights of its own
    code = {"plugin": plugins.record(name)} if plugins.is_plugin(name) else {}
    description = {
        "format": FORMAT,
        "task": splits.task,
        "outputs": splits.outputs,
        "class_names": list(splits.class_names),
        "target_units": None if units is None else [values.tolist() for values in units],
        "target_scale": None if scale is None else scale.tolist(),
        "model": {"name": name, "arguments": arguments} | code,
        "samples": experiment.training.mc_samples,
        "seed": experiment.training.seed,
    }
    run_folder.write_json(path / MODEL, description)
    if splits.preprocessing is not None:
        save_preprocessing(path / PREPROCESSING, splits.preprocessing)


def load_run(path: str | Path, *, device: torch.device | str = "cpu", model: str | None = None) -> TrainedRun:
    """The finished run in folder ``path``, ready to predict on ``device``; its training data are not needed.

    No code is run because a folder says so: if the run's model was a plug-in, ``model`` must name it again.

    >>> load_run("no/such/run")
    Traceback (most recent call last):
    tailormix.training.run_folder.RunError: no/such/run is not the folder of a run: there is no such folder
    """
    path = Path(path)
    result = _read_result(path)
    description = _read(path, MODEL)
    try:
        return _load(path, result, description, device, model)
    except RunError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, DataError, checkpoint.CheckpointError) as error:
        raise RunError(f"{path} cannot be used: {' '.join(str(error).split())}") from error


def _load(
    path: Path,
    result: dict[str, Any],
    description: dict[str, Any],
    device: torch.device | str,
    plugin: str | None,
) -> TrainedRun:
    if description.get("format") != FORMAT:
        raise ValueError(f"{MODEL} must have format {FORMAT}, got {description.get('format')!r}")
    for key, kind in _KEYS.items():
        if not isinstance(found := description.get(key), kind):
            raise TypeError(f"{key} of {MODEL} must be {kind.__name__}, got {found!r}")
    _need(path, PREPROCESSING)
    preprocessing = load_preprocessing(path / PREPROCESSING)
    name = _model_name(path, description["model"], plugin)
    with torch.random.fork_rng(devices=[]):  # weights are drawn before they are replaced
        model = build_model(name, description["model"]["arguments"])
    if not isinstance(best := result.get("best weights"), str):
        raise ValueError(f"{run_folder.RESULT} must name the best weights, got {best!r}")
    weights = checkpoint.read(_need(path, best))
    try:
        checkpoint.load_module(model, weights.tensors)
    except RuntimeError as error:
        raise ValueError(f"{best} does not fit the model of {MODEL}: {error}") from error
    calibrated = "temperature" in result or "variance" in result
    classification = description["task"] == "classification"
    names = description["class_names"] or map(str, range(description["outputs"]))
    centre, spread = description["target_units"] or ([0.0], [1.0])
    return TrainedRun(
        path,
        description["task"],
        model.eval().to(device),
        preprocessing.to(device),
        calibration.load(_need(path, run_folder.CALIBRATOR)) if calibrated else None,
        tuple(names) if classification else (),
        (torch.tensor(centre).double(), torch.tensor(spread).double()),
        torch.tensor(description["target_scale"] or [1.0]).double(),
        result,
        description["samples"],
        description["seed"],
    )


def _model_name(path: Path, described: dict[str, Any], given: str | None) -> str:
    """The name to build the model by: a plug-in's must be given anew, and its file should be as it was."""
    name = str(described["name"])
    if not plugins.is_plugin(name):
        if given is not None:
            raise ValueError(f"its model is {name}, no plug-in: leave out model={given!r}")
        return name
    then = described["plugin"]
    if given is None:
        source, _, inner = name.rpartition(":")
        again = f"{then['file']}:{inner}" if source.endswith(".py") else name
        raise ValueError(f"its model is code of yours, {name}: name it again to run it, model={again!r}")
    if not plugins.is_plugin(given):
        raise ValueError(f"model must be like my.py:Net or module:Net, got {given!r}")
    if (now := plugins.record(given))["sha256"] != then["sha256"]:
        warnings.warn(
            f"{now['file']} has changed since {path} was trained ({name}): answers may differ", stacklevel=4
        )
    return given


def _read_result(path: Path) -> dict[str, Any]:
    """The result of a finished run; what else the folder may be is told apart."""
    if not path.is_dir():
        raise RunError(f"{path} is not the folder of a run: there is no such folder")
    result = run_folder.read_json(path / run_folder.RESULT)
    if result is not None and "reference" in result:
        raise RunError(f"{path} holds the answers of {result['reference']}, a reference of a study: no model")
    if result is not None:
        return result
    if (path / run_folder.EXPERIMENT).is_file():
        raise RunError(f"the run in {path} is not finished: the command that started it resumes it")
    found = sorted(each.parent.relative_to(path).as_posix() for each in path.rglob(run_folder.RESULT))
    inside = [*found[:MOST_NAMED], *(["..."] if len(found) > MOST_NAMED else [])]
    hint = f"it holds the runs {', '.join(inside)}: name one of them" if inside else "it has no result.json"
    raise RunError(f"{path} is not the folder of a run: {hint}")


def _need(path: Path, name: str) -> Path:
    """The path of a file that the folder must hold."""
    if not (path / name).is_file():
        raise RunError(
            f"{path} cannot be used: {name} is missing; it was lost, or an older version made the run: "
            "train it again with --force"
        )
    return path / name


def _read(path: Path, name: str) -> dict[str, Any]:
    return run_folder.read_json(_need(path, name)) or {}
