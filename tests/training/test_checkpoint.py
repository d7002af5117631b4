"""Checkpoints: whole, checked, and never the only one that is lost."""

from pathlib import Path

import pytest
import torch

from tailormix import atomic
from tailormix.training import CheckpointError, checkpoint
from tailormix.training.checkpoint import (
    Checkpoint,
    DamagedCheckpointError,
    best_file,
    latest,
    read,
    remove_orphans,
    save,
    write,
)


def made(number: int) -> Checkpoint:
    tensors = {
        "half": torch.full((3, 2), number, dtype=torch.bfloat16),
        "scalar": torch.tensor(number),
        "bits": torch.tensor([True, False]),
        "empty": torch.empty(0),
    }
    return Checkpoint(tensors, {"number": number, "third": 1 / 3, "best_epoch": 0})


def number_of(folder: Path) -> int:
    """Which checkpoint is found."""
    found = latest(folder)
    assert found is not None
    return int(found.facts["number"])


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    write(tmp_path / "a.safetensors", made(3))
    found = read(tmp_path / "a.safetensors")
    assert found.facts == made(3).facts
    assert found.tensors.keys() == made(3).tensors.keys()
    for name, tensor in made(3).tensors.items():
        assert found.tensors[name].dtype == tensor.dtype
        assert torch.equal(found.tensors[name], tensor)


def test_the_last_two_are_kept(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        save(tmp_path, made(number))
    assert read(tmp_path / checkpoint.LAST).facts["number"] == 3
    assert read(tmp_path / checkpoint.PREVIOUS).facts["number"] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last.safetensors", "previous.safetensors"]


def test_a_damaged_or_cut_file_falls_back_with_a_warning(tmp_path: Path) -> None:
    """Any changed byte, any length."""
    save(tmp_path, made(1))
    save(tmp_path, made(2))
    whole = (tmp_path / checkpoint.LAST).read_bytes()
    for position in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[position] ^= 1
        for content in (damaged, whole[:position]):
            (tmp_path / checkpoint.LAST).write_bytes(content)
            with pytest.warns(UserWarning, match=r"last\.safetensors.*falling back"):
                assert number_of(tmp_path) == 1


def test_a_kill_between_the_two_renames_leaves_the_previous_one(tmp_path: Path) -> None:
    save(tmp_path, made(1))
    (tmp_path / checkpoint.LAST).rename(tmp_path / checkpoint.PREVIOUS)
    assert number_of(tmp_path) == 1
    assert latest(tmp_path / "nothing") is None


def test_a_full_disk_keeps_the_checkpoint_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, made(1))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "fsync", full)
    with pytest.raises(CheckpointError, match=r"No space left on device.*last good checkpoint: .*last\.safe"):
        save(tmp_path, made(2))
    monkeypatch.undo()
    assert read(tmp_path / checkpoint.LAST).facts["number"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["last.safetensors"]


def test_a_checkpoint_without_its_best_weights_is_passed_over(tmp_path: Path) -> None:
    save(tmp_path, made(1))
    save(tmp_path, Checkpoint(made(2).tensors, {"number": 2, "best_epoch": 4}))
    with pytest.warns(UserWarning, match=r"best-4\.safetensors"):
        assert number_of(tmp_path) == 1


def test_where_none_is_whole_the_message_asks_for_force(tmp_path: Path) -> None:
    save(tmp_path, made(1))
    save(tmp_path, made(2))
    for name in (checkpoint.LAST, checkpoint.PREVIOUS):
        (tmp_path / name).write_bytes(b"nothing of worth")
    with pytest.raises(
        DamagedCheckpointError, match=r"no checkpoint in .*last.*previous.*--force starts anew"
    ):
        latest(tmp_path)


def test_what_the_system_cannot_read_is_not_damaged(tmp_path: Path) -> None:
    """A folder in its place fails as a lost mount does: when it is read, not when it is looked for."""
    save(tmp_path, made(1))
    save(tmp_path, made(2))
    (tmp_path / checkpoint.LAST).unlink()
    (tmp_path / checkpoint.LAST).mkdir()
    with pytest.raises(
        CheckpointError, match=r"cannot read .*last\.safetensors \(Is a directory\)"
    ) as raised:
        latest(tmp_path)
    assert not isinstance(raised.value, DamagedCheckpointError)


def test_orphans_of_a_kill_are_removed_and_nothing_else(tmp_path: Path) -> None:
    for epoch in (2, 4, 7):
        write(best_file(tmp_path, epoch), made(epoch))
    save(tmp_path, Checkpoint(made(1).tensors, {"best_epoch": 2}))
    save(tmp_path, Checkpoint(made(2).tensors, {"best_epoch": 4}))
    for name in (checkpoint.NEW, "best-of-mine.safetensors"):
        (tmp_path / name).touch()
    remove_orphans(tmp_path)
    kept = {checkpoint.LAST, checkpoint.PREVIOUS, "best-2.safetensors", "best-4.safetensors"}
    assert {path.name for path in tmp_path.iterdir()} == {*kept, "best-of-mine.safetensors"}
