"""Every shipped experiment runs two steps on made data of the right shape; what a run's record refuses."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tailormix import data
from tailormix.calibration.predictions import load_predictions
from tailormix.data import DataSplits
from tailormix.data.pixels import ImageTransform, normalisation
from tailormix.data.preprocessing import ArrayPreprocessing, ImagePreprocessing
from tailormix.data.series import series_splits
from tailormix.data.splits import MemorySplit
from tailormix.experiments import EXPERIMENTS, building, load_run, read
from tailormix.experiments.running import batches_in_memory, run_experiment
from tailormix.methods import METHODS
from tailormix.training import run_folder
from tailormix.training.run_folder import RunError


def made_images(**_: Any) -> DataSplits:
    scale, shift = normalisation([0.5] * 3, [0.25] * 3)
    draw = torch.Generator().manual_seed(0)
    images = torch.randint(256, (30, 3, 32, 32), dtype=torch.uint8, generator=draw)
    labels = torch.arange(30) % 10
    parts = [
        MemorySplit(images[rows], labels[rows], rows, ImageTransform(scale, shift, pad, flip=pad > 0))
        for rows, pad in zip(torch.arange(30).split(10), (4, 0, 0), strict=True)
    ]
    made = ImagePreprocessing((3, 32, 32), [0.5] * 3, [0.25] * 3)
    return DataSplits("cifar10", "classification", *parts, 10, preprocessing=made)


def made_rows(**_: Any) -> DataSplits:
    x = torch.rand(90, 5, generator=torch.Generator().manual_seed(0))
    y = 100 + x.sum(1, keepdim=True)
    parts = [MemorySplit(x[rows], y[rows], rows) for rows in torch.arange(90).split(30)]
    return DataSplits("airfoil", "regression", *parts, 1, preprocessing=ArrayPreprocessing((5,)))


def made_series(**_: Any) -> DataSplits:
    values = torch.rand(600, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return series_splits("exchange-rate", values, 168, 12, "clean")


def made_features(**_: Any) -> DataSplits:
    x = torch.rand(90, 7, generator=torch.Generator().manual_seed(0))
    parts = [MemorySplit(x[rows], rows % 3, rows) for rows in torch.arange(90).split(30)]
    return DataSplits("features", "classification", *parts, 3, preprocessing=ArrayPreprocessing((7,)))


MADE = {
    "cifar10": made_images,
    "airfoil": made_rows,
    "exchange-rate": made_series,
    "features": made_features,
}


def raw_inputs(splits: DataSplits) -> Any:
    """The test inputs as they were before the preprocessing."""
    if isinstance(splits.preprocessing, ImagePreprocessing):
        return splits.test.inputs
    x = splits.test.batch(torch.arange(len(splits.test)))[0].double()
    return x * splits.preprocessing.spread + splits.preprocessing.centre


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_two_steps_make_a_run_that_answers_as_it_was_evaluated(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = data.load

    def load(which: str, **options: Any) -> DataSplits:
        return MADE[which](**options) if which in MADE else loaded(which, **options)

    monkeypatch.setattr(building.data, "load", load)
    record = read(name, ["epochs=1", "mc_samples=2", "accelerator=cpu"])
    splits = load(record.data.name, seed=0)
    rows = len(splits.train)
    half = read(name, ["epochs=1", "mc_samples=2", "accelerator=cpu", f"batch={rows // 2}", "drop_last=true"])
    result = run_experiment(half, tmp_path)
    assert result["epochs"] == 1
    metric = "rmse" if result["data"]["task"] == "regression" else "accuracy"
    assert result["test"]["before"][metric] >= 0
    run, stored = load_run(tmp_path), load_predictions(tmp_path / "predictions.npz")
    if run.task == "classification":
        expected = torch.tensor(stored.logits).double().softmax(1).numpy()
        found = run.predict_proba(raw_inputs(splits), calibrated=False)
        np.testing.assert_allclose(found, expected, atol=1e-5)
    else:
        scale = 1.0 if splits.target_scale is None else splits.target_scale.numpy()
        found = run.predict(raw_inputs(splits)).reshape(stored.mean.shape)
        np.testing.assert_allclose(found, stored.mean * scale, rtol=1e-5, atol=1e-5)


QUICK = ["epochs=1", "batch=150", "accelerator=cpu"]


def record_of(path: Path) -> Any:
    return json.loads((path / run_folder.EXPERIMENT).read_text())


def test_a_folder_of_another_experiment_is_refused(tmp_path: Path) -> None:
    run_experiment(read("moons", QUICK), tmp_path)
    run_experiment(read("moons", [*QUICK, "workers=1"]), tmp_path)
    with pytest.raises(RunError, match=r"holds another experiment \(clip 0.0 instead of 1.0\).*--force"):
        run_experiment(read("moons", [*QUICK, "clip=1.0"]), tmp_path)


@pytest.mark.parametrize(
    "wrong", ["model.hidden=[-1]", "method.tau_std=-1.0", "data.noise=-1.0", "optimiser.lr=-1.0"]
)
def test_a_folder_is_claimed_when_everything_is_built_and_taken_over_before_that(
    wrong: str, tmp_path: Path
) -> None:
    """The last one is found wrong when training starts: the folder has a record then, but no work."""
    with pytest.raises(ValueError, match="-1"):
        run_experiment(read("moons", [*QUICK, wrong]), tmp_path)
    assert (tmp_path / run_folder.EXPERIMENT).exists() == wrong.startswith("optimiser")
    assert run_experiment(read("moons", QUICK), tmp_path)["epochs"] == 1
    assert record_of(tmp_path)["experiment"]["optimiser"]["lr"] > 0


def test_a_finished_run_is_shown_from_a_disk_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run_experiment(read("moons", QUICK), tmp_path)
    (tmp_path / ".lock").unlink()

    def read_only(*_: Any, **__: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(run_folder.tempfile, "TemporaryFile", read_only)
    monkeypatch.setattr(run_folder, "write_atomically", read_only)
    assert run_experiment(read("moons", QUICK), tmp_path) == result
    assert not (tmp_path / ".lock").exists()
    with pytest.raises(
        RunError, match=r"cannot write into .* \(Read-only file system\): choose another folder"
    ):
        run_experiment(read("moons", [*QUICK, "seed=1"]), tmp_path.with_name("other"))


def test_what_the_data_notes_is_said_once_and_stays_in_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, said = data.load, list[str]()
    note = "2 rows without a label were left out"
    monkeypatch.setattr(building.data, "load", lambda *a, **o: replace(loaded(*a, **o), notes=(note,)))
    for _ in range(2):
        result = run_experiment(read("moons", QUICK), tmp_path, say=said.append)
    assert said == result["data"]["notes"] == [note]


def test_batches_in_memory_are_known_for_every_method() -> None:
    found = {name: batches_in_memory(entry.passes) for name, entry in METHODS.items()}
    assert found["erm"] == found["sk-mixup"] == 1
    assert found["regmixup"] == found["mit-l"] == 2
    assert found["rankmixup"] == 4
