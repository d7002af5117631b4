"""A finished run as one program: from raw inputs to calibrated probabilities, or to values and their spread.

The program is deterministic. For regression it passes the model without dropout, and its standard deviation
is one constant per output, the root mean squared error on validation.
"""

from __future__ import annotations

import copy
import importlib
import io
import json
import logging
import warnings
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from torch import nn

from tailormix.data.preprocessing import ArrayPreprocessing, ImagePreprocessing, TablePreprocessing

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.data.preprocessing import Preprocessing
    from tailormix.experiments.trained import TrainedRun

FACTS = "facts.json"
TOLERANCE = 1e-5
_ROWS = 8
_ONNX = 'export to .onnx needs the packages onnx and onnxscript: pip install "tailormix[export]"'


class ExportError(RuntimeError):
    """A run cannot be exported, or its program does not answer as the run does."""


@final
class Program(nn.Module):
    """softmax(z / T) of a classifier, (n, classes); or mean and standard deviation, each (n, outputs).

    A regression that was not calibrated has a mean alone.
    """

    temperature: Tensor
    centre: Tensor
    spread: Tensor
    constant: Tensor

    def __init__(self, run: TrainedRun) -> None:
        super().__init__()
        self.preprocessing, self.model = copy.deepcopy(run.preprocessing), copy.deepcopy(run.model)
        self.outputs = outputs(run)
        if run.task == "classification":
            temperature = 1.0 if run.calibrator is None else run.calibrator.temperature
            self.register_buffer("temperature", torch.tensor(temperature, dtype=torch.float64))
            return
        centre, spread = run.target_units
        self.register_buffer("centre", centre * run.target_scale)
        self.register_buffer("spread", spread * run.target_scale)
        self.register_buffer("constant", run.constant_std())

    def forward(self, raw: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Answers for raw inputs (n, ...), as the run's preprocessing reads them."""
        found: Tensor = self.model(self.preprocessing(raw)).double()
        if self.outputs == ["probabilities"]:
            return (found / self.temperature).softmax(1).float()
        mean = found * self.spread + self.centre
        return mean if self.outputs == ["mean"] else (mean, self.constant.expand_as(mean))


def outputs(run: TrainedRun) -> list[str]:
    """The names of what the program answers."""
    if run.task == "classification":
        return ["probabilities"]
    return ["mean"] if run.calibrator is None else ["mean", "std"]


def export_program(run: TrainedRun) -> tuple[bytes, float]:
    """The run as a ``torch.export`` archive (.pt2), and its largest difference from the run.

    Any number of rows; ``facts.json`` among its extra files says what goes in and comes out. The archive
    holds JSON and the bytes of tensors, no pickle. ``torch.export.load(path).module()`` runs it without
    tailormix.
    """
    file = io.BytesIO()
    program = _trace(run)
    program.example_inputs = None  # they would be pickled
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(program, file, extra_files={FACTS: json.dumps(facts(run), indent=2)})
        file.seek(0)
        loaded: Any = torch.export.load(file).module()
    return file.getvalue(), _difference(run, loaded)


def export_onnx(run: TrainedRun) -> tuple[bytes, float | None]:
    """The run as an ONNX model, and its largest difference from the run; None without onnxruntime."""
    try:
        for package in ("onnx", "onnxscript"):
            importlib.import_module(package)
    except ImportError as error:
        raise ImportError(_ONNX, name=error.name) from error
    told, log = facts(run), logging.getLogger("torch.onnx")
    before = log.level
    log.setLevel(logging.ERROR)  # it warns where torchvision is not installed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = torch.onnx.export(
            _trace(run), input_names=["raw"], output_names=told["outputs"], dynamo=True, verbose=False
        )
    log.setLevel(before)
    if made is None:
        raise ExportError("torch returned no ONNX program")
    model = made.model_proto
    model.metadata_props.add(key=FACTS, value=json.dumps(told))
    contents: bytes = model.SerializeToString()
    try:
        onnxruntime = importlib.import_module("onnxruntime")
    except ImportError:
        return contents, None
    session = onnxruntime.InferenceSession(contents, providers=["CPUExecutionProvider"])
    return contents, _difference(run, lambda raw: session.run(None, {"raw": raw.numpy()}))


def facts(run: TrainedRun) -> dict[str, Any]:
    """What a user of the program must know: shape, type and meaning of what goes in and comes out."""
    raw = example_rows(run.preprocessing)
    return {
        "task": run.task,
        "class_names": list(run.class_names),
        "inputs": {
            **run.preprocessing.facts(),
            "kind": run.preprocessing.kind,
            "shape": ["rows", *raw.shape[1:]],
            "dtype": str(raw.dtype).removeprefix("torch."),
        },
        "outputs": outputs(run),
        "calibrated by": None if run.calibrator is None else run.calibrator.kind,
    }


def example_rows(preprocessing: Preprocessing, rows: int = _ROWS) -> Tensor:
    """Raw inputs such as training could have seen, drawn with a fixed seed, missing cells among them."""
    draw = torch.Generator().manual_seed(0)
    if isinstance(preprocessing, ImagePreprocessing):
        shape = (rows, *preprocessing.shape)
        return torch.randint(preprocessing.maximum + 1, shape, generator=draw, dtype=torch.uint8)
    if isinstance(preprocessing, ArrayPreprocessing):
        noise = torch.randn(rows, *preprocessing.shape, generator=draw, dtype=torch.float64)
        return noise * preprocessing.spread.cpu() + preprocessing.centre.cpu()
    if isinstance(preprocessing, TablePreprocessing):
        noise = torch.randn(rows, len(preprocessing.columns), generator=draw, dtype=torch.float64)
        cells = noise * preprocessing.spread.cpu() + preprocessing.centre.cpu()
        for place, column in enumerate(preprocessing.columns):
            if column.kind == "category":
                cells[:, place] = torch.randint(-1, len(column.categories), (rows,), generator=draw).double()
        gone = torch.rand(cells.shape, generator=draw) < 0.1
        return cells.masked_fill(gone, torch.nan)
    raise ExportError(f"inputs of kind {preprocessing.kind!r} cannot be exported")


def _trace(run: TrainedRun) -> torch.export.ExportedProgram:
    raw = example_rows(run.preprocessing)
    rows = torch.export.Dim("rows", min=1)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # torch warns of its own recurrent layers
            program = Program(run).cpu().eval().requires_grad_(False)
            return torch.export.export(program, (raw,), dynamic_shapes=({0: rows},))
    except Exception as error:  # torch raises many kinds, private ones among them
        first = next(iter(str(error).splitlines()), "")
        raise ExportError(
            f"torch.export cannot follow this model: {type(error).__name__}: {first}"
        ) from error


def _answers(run: TrainedRun, raw: Tensor) -> list[Any]:
    """What the run itself says, by the outputs of the program."""
    if run.task == "classification":
        return [run.predict_proba(raw)]
    mean = run.predict(raw, dropout=False)
    return [mean] if run.calibrator is None else [mean, run.predict_interval(raw, dropout=False).std]


def _difference(run: TrainedRun, answer: Any) -> float:
    """The largest difference from the run on example rows, one and several, relative above 1."""
    largest = 0.0
    for rows in (1, _ROWS):
        raw = example_rows(run.preprocessing, rows)
        found = answer(raw)
        for mine, theirs in zip(
            found if isinstance(found, (list, tuple)) else [found], _answers(run, raw), strict=True
        ):
            away = np.abs(np.asarray(mine).reshape(theirs.shape) - theirs) / np.maximum(1, np.abs(theirs))
            largest = max(largest, float(away.max()))
    if not largest <= TOLERANCE:
        raise ExportError(f"the program differs from the run by {largest:.2g}, more than {TOLERANCE:g}")
    return largest
