"""The loop and the run folder: what is selected and what is written."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tailormix import calibration
from tailormix.calibration.predictions import load_predictions
from tailormix.calibration.temperature import PRIOR
from tailormix.data import DataSplits
from tailormix.data.splits import MemorySplit
from tailormix.experiments import read
from tailormix.experiments.experiment import fingerprint
from tailormix.methods import build_method
from tailormix.training import Choice, Settings, Setup, checkpoint, make_fabric, run, run_folder
from tailormix.training.progress import silent
from tailormix.training.trainer import is_better
from training.runs import listener, rows_of, train


def test_a_run_folder_is_complete(tmp_path: Path) -> None:
    torch.manual_seed(5)
    outside = torch.get_rng_state()
    result = train(tmp_path, with_tensorboard=True)
    assert torch.equal(torch.get_rng_state(), outside)
    rows = rows_of(tmp_path)
    assert [row["epoch"] for row in rows] == [1, 2, 3]
    assert set(rows[0]["validation"]) == {"accuracy", "nll", "ece"}
    assert result == json.loads((tmp_path / run_folder.RESULT).read_text())
    record = json.loads((tmp_path / run_folder.EXPERIMENT).read_text())
    assert (record["experiment"]["epochs"], record["experiment"]["seed"]) == (3, 0)
    assert record["versions"]["torch"] == torch.__version__
    best = max(row["validation"]["accuracy"] for row in rows)
    assert (result["selection"]["split"], result["selection"]["score"]) == ("validation", best)
    assert rows[result["best_epoch"] - 1]["validation"]["accuracy"] == best
    assert result["validation"]["before"]["accuracy"] == best  # the best weights were evaluated, not the last
    assert result["seconds_total"] == pytest.approx(sum(row["seconds"] for row in rows))
    assert 0 < result["seconds_to_best_epoch"] <= result["seconds_total"]
    assert result["batches_in_memory"] == 1
    fitted = result["temperature"]["fitted on"]
    assert (fitted["split"], fitted["imitates"], "imitates" in result) == ("validation", None, False)
    assert result["temperature"]["prior"] == PRIOR
    assert set(result["test"]) == set(result["validation"]) == {"before", "after temperature"}
    assert list((tmp_path / "tensorboard").glob("events.*"))
    test, validation = load_predictions(tmp_path), load_predictions(tmp_path / "validation.npz")
    assert (test.split, validation.split) == ("test", "validation")
    assert not set(test.ids.tolist()) & set(validation.ids.tolist())
    accuracy = (test.logits.argmax(1) == test.targets).mean()
    assert result["test"]["before"]["accuracy"] == pytest.approx(accuracy)
    told: list[Any] = []
    assert train(tmp_path, report=listener(told.append)) == result  # finished: not run again
    assert told == []


def test_the_released_protocol_selects_on_the_test_split_and_says_so(tmp_path: Path) -> None:
    result = train(tmp_path, "imitate=released-protocol")
    rows = rows_of(tmp_path)
    assert "validation" not in rows[0]
    assert result["imitates"] == "released-protocol"
    assert result["selection"]["split"] == "test"
    assert result["selection"]["score"] == max(row["test"]["accuracy"] for row in rows)
    assert result["test"]["before"]["accuracy"] == result["selection"]["score"]
    fitted = result["temperature"]["fitted on"]
    assert (fitted["split"], fitted["imitates"]) == ("test", "released-protocol")
    assert result["temperature"]["prior"] is None  # nor has the released code one
    scaler = calibration.load(tmp_path / run_folder.CALIBRATOR)
    assert (scaler.temperature, scaler.provenance.imitates) == (
        result["temperature"]["value"],
        "released-protocol",
    )
    assert result["test"]["after temperature"]["nll"] <= result["test"]["before"]["nll"] + 1e-9
    record = json.loads((tmp_path / run_folder.EXPERIMENT).read_text())
    assert record["experiment"]["imitate"] == "released-protocol"


def test_the_protocol_counts_for_the_folder_and_is_checked() -> None:
    plain, leaking = read("moons"), read("moons", ["imitate=released-protocol"])
    assert fingerprint(plain) != fingerprint(leaking)
    assert fingerprint(plain) == fingerprint(read("moons", ['also=["cifar10-c"]']))  # same training
    with pytest.raises(ValueError, match="Known: released-protocol"):
        Settings(imitate="released")
    with pytest.raises(ValueError, match="unknown data set of also 'cifar10-d'"):
        read("moons", ['also=["cifar10-d"]'])


def test_regression_has_a_spread_by_dropout(tmp_path: Path) -> None:
    x = torch.rand(60, 5, generator=torch.Generator().manual_seed(0))
    np.savez(tmp_path / "own.npz", x=x.numpy(), y=x.sum(1, keepdim=True).numpy())
    settings = ["data=npz", f"data.path={tmp_path / 'own.npz'}", "method=c-mixup", "mc_samples=4", "batch=16"]
    result = train(tmp_path / "run", *settings, name="airfoil")
    assert set(rows_of(tmp_path / "run")[0]["validation"]) == {"mse"}
    assert {"rmse", "uce", "ence", "coverage"} <= set(result["test"]["before"])
    assert (load_predictions(tmp_path / "run").std > 0).all()
    fitted = load_predictions(tmp_path / "run" / "validation.npz")
    scale = np.mean(((fitted.targets - fitted.mean) / fitted.std) ** 2)
    assert calibration.load(tmp_path / "run" / run_folder.CALIBRATOR).scale == pytest.approx(scale, rel=1e-5)
    assert result["variance"]["value"] == pytest.approx(scale, rel=1e-5)
    assert result["variance"]["fitted on"]["split"] == "validation"
    assert set(result["test"]) == set(result["validation"]) == {"before", "after variance scaling"}
    before, after = result["validation"]["before"], result["validation"]["after variance scaling"]
    assert after["gaussian_nll"] < before["gaussian_nll"]
    assert after["rmse"] == before["rmse"]


class Constant(nn.Module):
    """A model whose loss cannot change."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.new_zeros(len(x), 1) * self.weight[:, :1] + 0 * x.sum()


def test_equal_errors_keep_the_later_epoch_and_no_test_split_is_fine(tmp_path: Path) -> None:
    x, y, ids = torch.rand(12, 2), torch.rand(12, 1), torch.arange(12)
    part, nothing = MemorySplit(x, y, ids), MemorySplit(x[:0], y[:0], ids[:0])
    settings = Settings(epochs=3, batch=4, optimiser=Choice("sgd", {"lr": 0.1}), accelerator="cpu")
    units = (torch.tensor([50.0]), torch.tensor([10.0]))
    splits = DataSplits("made", "regression", part, part, nothing, 1, target_units=units)
    setup = Setup(splits, Constant(), build_method("erm"))
    run_folder.prepare(tmp_path)
    result = run(make_fabric(settings), lambda: setup, settings, tmp_path, report=silent, facts={})
    assert result["best_epoch"] == 3
    assert "test" not in result
    assert set(result["validation"]["before"]) == {"rmse", "mae", "mape"}  # no dropout, no spread
    error = 10 * y.square().mean().sqrt().item()  # the model says 0, in the user's units 50
    assert rows_of(tmp_path)[-1]["validation"]["mse"] == pytest.approx(error**2, rel=1e-5)
    assert result["selection"]["score"] == pytest.approx(-((error / 10) ** 2), rel=1e-5)
    after = result["validation"]["after variance scaling"]
    assert after["rmse"] == pytest.approx(error, rel=1e-5)
    assert after["uce"] == pytest.approx(0, abs=1e-3)  # one constant spread, of the size of the errors
    scaler = calibration.load(tmp_path / run_folder.CALIBRATOR)
    assert scaler.transform(torch.zeros(2, 1)).tolist() == [[pytest.approx(error, rel=1e-5)]] * 2
    assert "No spread was predicted" in result["variance"]["note"]
    assert is_better(None, None, on_ties=False)
    assert not is_better(float("nan"), None, on_ties=True)


@pytest.mark.parametrize("imitate", ["", "released-protocol"])
def test_of_equally_accurate_epochs_the_lowest_nll_is_taken(imitate: str, tmp_path: Path) -> None:
    """Easy classes: all epochs are right, and confidence grows. The released code takes the first."""
    torch.manual_seed(0)
    x = torch.cat([torch.randn(40, 2) * 0.1 + 3, torch.randn(40, 2) * 0.1 - 3])
    y, ids = torch.arange(2).repeat_interleave(40), torch.arange(80)
    part = MemorySplit(x, y, ids)
    settings = Settings(
        epochs=4, batch=16, optimiser=Choice("sgd", {"lr": 0.01}), accelerator="cpu", imitate=imitate
    )
    setup = Setup(
        DataSplits("made", "classification", part, part, part, 2), nn.Linear(2, 2), build_method("erm")
    )
    run_folder.prepare(tmp_path)
    result = run(make_fabric(settings), lambda: setup, settings, tmp_path, report=silent, facts={})
    split = "test" if imitate else "validation"
    found = [row[split] for row in rows_of(tmp_path)]
    assert result["selection"]["score"] == max(row["accuracy"] for row in found)
    ties = [row for row in found if row["accuracy"] == result["selection"]["score"]]
    assert len(ties) > 1
    first, lowest = found.index(ties[0]) + 1, found.index(min(ties, key=lambda row: row["nll"])) + 1
    assert first != lowest
    assert result["best_epoch"] == (first if imitate else lowest)


def test_clipping_bounds_the_step(tmp_path: Path) -> None:
    """One step of SGD without momentum moves the weights by lr · norm at most."""
    settings = ["epochs=1", "batch=300", "optimiser=sgd", "optimiser.lr=1.0", "optimiser.momentum=0.0"]
    moved = {}
    for clip in (0, 0.001):
        path = tmp_path / str(clip)
        train(path, *settings, f"clip={clip}")
        tensors = checkpoint.read(path / "checkpoints" / checkpoint.LAST).tensors
        moved[clip] = torch.cat([tensors[name].flatten() for name in tensors if name.startswith("model.")])
    assert float((moved[0] - moved[0.001]).norm()) > 0.01


def test_mixed_precision_trains(tmp_path: Path) -> None:
    result = train(tmp_path, "precision=bf16-mixed", "clip=1.0")
    assert result["test"]["before"]["nll"] < 1
    weights = checkpoint.read(tmp_path / result["best weights"]).tensors
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32}


def test_a_data_set_without_validation_keeps_its_last_epoch(tmp_path: Path) -> None:
    """The published moons are 70 training and 30 test points: nothing may be chosen on the latter."""
    result = train(tmp_path, "data.protocol=as-published", "batch=35")
    assert result["best_epoch"] == 3
    assert result["selection"] == {"split": None, "rule": "last epoch (no validation split)", "score": None}
    assert "temperature" not in result
    assert set(result["test"]) == {"before"}
