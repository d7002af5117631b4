"""What stops a run, and how it is resumed."""

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from tailormix.training import (
    CheckpointError,
    Interrupted,
    NonFiniteLoss,
    RunError,
    checkpoint,
    evaluating,
    run_folder,
)
from training.runs import listener, rows_of, train, without_times


def assert_resumes_like_one_left_alone(folder: Path, *settings: str) -> None:
    """The run in ``folder / "stopped"`` ends with the result and the rows of an uninterrupted one."""
    resumed, alone = train(folder / "stopped", *settings), train(folder / "alone", *settings)
    assert without_times(resumed) == without_times(alone)
    rows = [[without_times(row) for row in rows_of(folder / name)] for name in ("stopped", "alone")]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_after_the_step_with_a_checkpoint(number: int, tmp_path: Path) -> None:
    """The signal comes while epoch 1 is reported."""
    before = signal.getsignal(signal.SIGINT)  # not always Python's own: shells ignore it for background jobs
    with pytest.raises(Interrupted, match="epoch 2 after step 1 of 3"):
        train(tmp_path / "stopped", report=listener(lambda _: os.kill(os.getpid(), number)))
    facts = checkpoint.read(tmp_path / "stopped" / "checkpoints" / checkpoint.LAST).facts
    assert (facts["epoch"], facts["step"]) == (1, 1)
    assert signal.getsignal(signal.SIGINT) is before
    assert_resumes_like_one_left_alone(tmp_path)


@pytest.mark.parametrize("moment", ["validate", "evaluate"])
def test_an_end_between_last_step_and_result_changes_nothing(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoint then holds a whole epoch whose row is not written, or a whole run without its result."""
    settings = ("checkpoint_every=0", "schedule=one-cycle", "loss=crl", "method=erm")

    def fail(*_: Any) -> None:
        raise RuntimeError("pulled the plug")

    with monkeypatch.context() as patch:
        patch.setattr(evaluating, moment, fail)
        with pytest.raises(RuntimeError, match="pulled the plug"):
            train(tmp_path / "stopped", *settings)
    assert_resumes_like_one_left_alone(tmp_path, *settings)


def test_a_damaged_checkpoint_falls_back_and_ends_the_same(tmp_path: Path) -> None:
    def stop_in_the_third(row: dict[str, Any]) -> None:
        if row["epoch"] == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted):
        train(tmp_path / "stopped", "checkpoint_every=0", report=listener(stop_in_the_third))
    last = tmp_path / "stopped" / "checkpoints" / checkpoint.LAST
    last.write_bytes(last.read_bytes()[:-1] + b"\7")
    with pytest.warns(UserWarning, match="falling back to the checkpoint before"):
        assert_resumes_like_one_left_alone(tmp_path, "checkpoint_every=0")


@pytest.mark.parametrize(
    ("settings", "what", "position", "good"),
    [
        (["optimiser=sgd", "optimiser.lr=1e30"], "the loss is", "epoch 1, step [2-9]", True),
        (["optimiser.lr=1e38"], "weights or the optimiser's state are", "epoch 1, step 1", False),
        (["optimiser.lr=1e38", "batch=300"], "outputs for 100 of 100 rows", "epoch 1, step 1", False),
    ],
    ids=["loss", "weights", "validation"],
)
def test_what_is_not_finite_names_step_rows_and_checkpoint_and_never_becomes_one(
    settings: list[str], what: str, position: str, good: bool, tmp_path: Path
) -> None:
    """A step may leave a finite loss and infinite weights: the next look at them is what tells."""
    every = "1000" if "batch=300" in settings else "0"
    with pytest.raises(NonFiniteLoss, match=f"{what}.* not finite.* in {position} of ") as raised:
        train(tmp_path, "loss=ce", f"checkpoint_every={every}", *settings)
    said = str(raised.value)
    assert "training rows of the batch: [" in said
    last = tmp_path / "checkpoints" / checkpoint.LAST
    assert f"last good checkpoint: {last if good else 'none'}" in said
    assert last.exists() == good
    if good:
        tensors = checkpoint.read(last).tensors.values()
        assert all(tensor.isfinite().all() for tensor in tensors)
    assert not (tmp_path / run_folder.RESULT).exists()


def test_what_kills_have_left_is_gone_after_the_next_start(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        train(tmp_path, report=listener(lambda _: os.kill(os.getpid(), signal.SIGTERM)))
    left = [".result.json.abcd1234.part", "checkpoints/.new.safetensors.abcd1234.part"]
    left += ["checkpoints/new.safetensors", "checkpoints/best-99.safetensors"]
    for name in (*left, "notes.part"):
        (tmp_path / name).touch()
    train(tmp_path)
    assert [name for name in left if (tmp_path / name).exists()] == []
    assert (tmp_path / "notes.part").exists()


def test_a_run_that_cannot_write_fails_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process holds the folder, a file is in its place, or the disk is full."""
    told: list[Any] = []
    report = listener(told.append)
    run_folder.prepare(tmp_path / "taken")
    with (
        run_folder.locked(tmp_path / "taken"),
        pytest.raises(RunError, match="another process is writing into"),
    ):
        train(tmp_path / "taken", report=report)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"cannot write into .*choose another folder with --out"):
        train(tmp_path / "file" / "run", report=report)
    monkeypatch.setattr(run_folder.shutil, "disk_usage", lambda *_: type("Usage", (), {"free": 10}))
    with pytest.raises(RunError, match=r"needs about .* MB for checkpoints, but only 0\.0 MB are free"):
        train(tmp_path / "full", report=report)
    assert told == []


def test_a_disk_that_fills_up_keeps_the_checkpoint_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, count = checkpoint.write, iter(range(100))

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


def test_outside_the_main_thread_a_run_works_without_handlers(tmp_path: Path) -> None:
    found: list[dict[str, Any]] = []
    thread = threading.Thread(target=lambda: found.append(train(tmp_path)))
    thread.start()
    thread.join(120)
    assert found[0]["epochs"] == 3
