"""The loop and the run folder: what is selected, what is written, and what stops a run."""

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tailormix.data import DataSplits
from tailormix.data.access.memory import MemorySplit
from tailormix.experiments import read
from tailormix.experiments.running import run_experiment
from tailormix.methods import build_method
from tailormix.prediction_files import load_predictions
from tailormix.training import (
    CheckpointError,
    Choice,
    Interrupted,
    NonFiniteLoss,
    Parts,
    RunError,
    Settings,
    checkpoint,
    folder,
    make_fabric,
    run,
)
from tailormix.training.reporting import silent
from tailormix.training.state import State, is_better

SMALL = ["epochs=3", "batch=100", "accelerator=cpu"]


def train(path: Path, *settings: str, name: str = "moons", **options: Any) -> dict[str, Any]:
    return run_experiment(read(name, [*SMALL, *settings]), path, **options)


def listener(hear: Any) -> Any:
    """A reporter that hands each row to ``hear``."""

    def report(row: dict[str, Any], epochs: int) -> None:
        hear(row)

    return report


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / folder.METRICS).read_text().splitlines()]


def without_times(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if not key.startswith("seconds")}


def test_a_run_folder_is_complete(tmp_path: Path) -> None:
    result = train(tmp_path)
    rows = rows_of(tmp_path)
    assert [row["epoch"] for row in rows] == [1, 2, 3]
    assert set(rows[0]["validation"]) == {"accuracy", "nll", "ece"}
    assert result == json.loads((tmp_path / folder.RESULT).read_text())
    record = json.loads((tmp_path / folder.EXPERIMENT).read_text())
    assert record["experiment"]["epochs"] == 3
    assert record["experiment"]["seed"] == 0
    assert record["versions"]["torch"] == torch.__version__
    best = max(row["validation"]["accuracy"] for row in rows)
    assert result["selection"]["score"] == best
    assert rows[result["best_epoch"] - 1]["validation"]["accuracy"] == best
    assert result["validation"]["before"]["accuracy"] == best  # the best weights were judged, not the last
    assert result["seconds_total"] == pytest.approx(sum(row["seconds"] for row in rows))
    assert result["seconds_to_best_epoch"] <= result["seconds_total"]
    assert result["batches_in_memory"] == 1
    assert result["temperature"]["fitted on"]["split"] == "validation"
    assert set(result["test"]) == {"before", "after temperature"}


def test_predictions_carry_their_split_and_ids(tmp_path: Path) -> None:
    result = train(tmp_path)
    test, validation = load_predictions(tmp_path), load_predictions(tmp_path / "validation.npz")
    assert (test.split, validation.split) == ("test", "validation")
    assert not set(test.ids.tolist()) & set(validation.ids.tolist())
    accuracy = (test.logits.argmax(1) == test.targets).mean()
    assert result["test"]["before"]["accuracy"] == pytest.approx(accuracy)


def test_a_finished_run_is_not_run_again(tmp_path: Path) -> None:
    first = train(tmp_path)
    told: list[Any] = []
    again = train(tmp_path, report=listener(told.append))
    assert again == first
    assert told == []


def test_a_folder_of_another_experiment_is_refused(tmp_path: Path) -> None:
    train(tmp_path)
    with pytest.raises(RunError, match=r"holds another experiment .epochs 3 instead of 4"):
        train(tmp_path, "epochs=4")
    train(tmp_path, "checkpoint_every=5")  # how a run is carried out may change


def test_two_processes_cannot_write_into_one_folder(tmp_path: Path) -> None:
    folder.prepare(tmp_path)
    with folder.locked(tmp_path), pytest.raises(RunError, match="another process is writing into"):
        train(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_after_the_step_with_a_checkpoint(number: int, tmp_path: Path) -> None:
    """The signal comes while epoch 1 is reported; the run goes on to the same end as one left alone."""
    with pytest.raises(Interrupted, match="epoch 2 after step 1 of 3"):
        train(tmp_path / "stopped", report=listener(lambda _: os.kill(os.getpid(), number)))
    facts = checkpoint.read(tmp_path / "stopped" / "checkpoints" / checkpoint.LAST).facts
    assert (facts["epoch"], facts["step"]) == (1, 1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    resumed, alone = train(tmp_path / "stopped"), train(tmp_path / "alone")
    assert without_times(resumed) == without_times(alone)
    assert [without_times(r) for r in rows_of(tmp_path / "stopped")] == [
        without_times(r) for r in rows_of(tmp_path / "alone")
    ]


def test_a_damaged_checkpoint_falls_back_and_ends_the_same(tmp_path: Path) -> None:
    calls = []

    def stop_in_the_third(row: dict[str, Any], epochs: int) -> None:
        calls.append(row)
        if row["epoch"] == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted):
        train(tmp_path / "a", "checkpoint_every=0", report=stop_in_the_third)
    last = tmp_path / "a" / "checkpoints" / checkpoint.LAST
    last.write_bytes(last.read_bytes()[:-1] + b"\7")
    with pytest.warns(UserWarning, match="falling back to the checkpoint before"):
        resumed = train(tmp_path / "a", "checkpoint_every=0")
    assert without_times(resumed) == without_times(train(tmp_path / "b"))


def test_a_loss_that_is_no_number_names_step_rows_and_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(NonFiniteLoss) as raised:
        train(
            tmp_path,
            "optimiser=sgd",
            "optimiser.lr=1e30",
            "checkpoint_every=0",
            "loss=ce",
            name="moons",
        )
    said = str(raised.value)
    assert "epoch 1, step" in said
    assert "training rows of the batch: [" in said
    good = checkpoint.read(tmp_path / "checkpoints" / checkpoint.LAST)
    assert str(tmp_path / "checkpoints" / checkpoint.LAST) in said
    assert good.facts["step"] >= 1
    assert not (tmp_path / folder.RESULT).exists()


def test_no_room_fails_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr(folder.shutil, "disk_usage", lambda *_: usage)
    told: list[Any] = []
    with pytest.raises(RunError, match=r"needs about .* MB for checkpoints, but only 0\.0 MB are free"):
        train(tmp_path, report=listener(told.append))
    assert told == []


def test_a_disk_that_fills_up_keeps_the_checkpoint_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = checkpoint.write
    count = iter(range(100))

    def fills(path: Path, state: Any) -> None:
        if next(count) == 2:
            raise OSError(28, "No space left on device")
        written(path, state)

    monkeypatch.setattr(checkpoint, "write", fills)
    with pytest.raises(CheckpointError, match="No space left"):
        train(tmp_path, "checkpoint_every=0")
    monkeypatch.undo()
    assert checkpoint.read(tmp_path / "checkpoints" / checkpoint.LAST).facts["step"] == 2
    assert train(tmp_path)["epochs"] == 3


def test_a_folder_that_cannot_be_made_fails_before_training(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"cannot write into .*choose another folder with --out"):
        train(tmp_path / "file" / "run")


def test_regression_has_a_spread_by_dropout_and_keeps_the_later_of_equals(tmp_path: Path) -> None:
    x = torch.rand(60, 5, generator=torch.Generator().manual_seed(0))
    y = x.sum(1, keepdim=True)
    np.savez(tmp_path / "own.npz", x=x.numpy(), y=y.numpy())
    settings = ["data=npz", f"data.path={tmp_path / 'own.npz'}", "method=c-mixup", "mc_samples=4", "batch=16"]
    result = train(tmp_path / "run", *settings, name="airfoil")
    assert set(rows_of(tmp_path / "run")[0]["validation"]) == {"mse"}
    assert {"rmse", "uce", "ence", "coverage"} <= set(result["test"]["before"])
    assert (load_predictions(tmp_path / "run").std > 0).all()
    assert is_better(-1.0, -1.0, "regression")
    assert not is_better(1.0, 1.0, "classification")
    assert is_better(None, None, "classification")


class Constant(nn.Module):
    """A model whose loss cannot change."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.new_zeros(len(x), 1) * self.weight[:, :1] + 0 * x.sum()


def splits(rows: int = 12) -> DataSplits:
    x, y = torch.rand(rows, 2), torch.rand(rows, 1)
    part = MemorySplit(x, y, torch.arange(rows))
    return DataSplits("made", "regression", part, part, MemorySplit(x[:0], y[:0], torch.arange(0)), 1)


def test_equal_errors_keep_the_later_epoch_and_no_test_split_is_fine(tmp_path: Path) -> None:
    settings = Settings(epochs=3, batch=4, optimiser=Choice("sgd", {"lr": 0.1}), accelerator="cpu")
    parts = Parts(splits(), Constant(), build_method("erm"))
    folder.prepare(tmp_path)
    result = run(make_fabric(settings), lambda: parts, settings, tmp_path, report=silent, facts={})
    assert result["best_epoch"] == 3
    assert "test" not in result
    assert set(result["validation"]["before"]) == {"rmse", "mae", "mape"}  # no dropout, no spread


def test_random_state_outside_is_left_alone(tmp_path: Path) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    train(tmp_path)
    assert torch.equal(torch.get_rng_state(), before)


def test_outside_the_main_thread_a_run_works_without_handlers(tmp_path: Path) -> None:
    found: list[dict[str, Any]] = []
    thread = threading.Thread(target=lambda: found.append(train(tmp_path)))
    thread.start()
    thread.join(120)
    assert found[0]["epochs"] == 3


def test_tensorboard_and_timings(tmp_path: Path) -> None:
    started = time.monotonic()
    result = train(tmp_path, with_tensorboard=True)
    assert 0 < result["seconds_total"] <= time.monotonic() - started
    assert list((tmp_path / "tensorboard").glob("events.*"))
    assert State().best_epoch == 0


def test_clipping_bounds_the_step(tmp_path: Path) -> None:
    """One step of SGD without momentum moves the weights by lr · norm at most."""
    settings = ["epochs=1", "batch=300", "optimiser=sgd", "optimiser.lr=1.0", "optimiser.momentum=0.0"]
    moved = {}
    for clip in (0, 0.001):
        path = tmp_path / str(clip)
        train(path, *settings, f"clip={clip}")
        moved[clip] = checkpoint.read(path / "checkpoints" / checkpoint.LAST).tensors
    gap = sum(
        float((moved[0][name] - moved[0.001][name]).square().sum())
        for name in moved[0]
        if name.startswith("model.")
    )
    assert gap > 0.01**2
