"""The record of predictions, the leak guard, and the files."""

from pathlib import Path

import numpy as np
import pytest
import torch

from support_calibration import distorted, split
from tailormix.calibration import IsotonicCalibration, MatrixScaling, TemperatureScaling, VectorScaling
from tailormix.calibration.predictions import (
    IMITATED,
    LeakError,
    Predictions,
    check_fit,
    load_predictions,
    save_predictions,
    shared_points,
)

KINDS = [TemperatureScaling, VectorScaling, MatrixScaling, IsotonicCalibration]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["test", "Test", "test-c", "testing"])
def test_fitting_on_test_points_raises(kind: type, name: str) -> None:
    with pytest.raises(LeakError, match="cannot fit on split"):
        kind().fit(split(name))


@pytest.mark.parametrize("kind", KINDS)
def test_evaluating_fitted_points_raises(kind: type) -> None:
    val, test = split("val", ids=range(200)), split("test", ids=range(200, 400), seed=1)
    fitted = kind().fit(val)
    assert fitted.transform(test).split == "test"
    assert fitted.transform(test).imitates is None
    with pytest.raises(LeakError, match="200 of these 200 points"):
        fitted.transform(val)
    with pytest.raises(LeakError, match="50 of these 200 points"):
        fitted.transform(split("test", ids=range(150, 350), seed=1))


def test_the_same_arrays_are_recognised_without_ids() -> None:
    fitted = TemperatureScaling().fit(*distorted(200))
    with pytest.raises(LeakError):
        fitted.transform(split("val"))
    assert fitted.transform(split("val", seed=1)).split == "val"
    assert fitted.transform(distorted(200)[0]).shape == (200, 5)


def test_imitation_is_named_and_recorded() -> None:
    test = split("test", ids=range(200))
    fitted = TemperatureScaling().fit(test, imitate="released-protocol")
    assert fitted.provenance.imitates == "released-protocol"
    assert fitted.transform(test).imitates == "released-protocol"
    val = split("val", ids=range(200))
    again = TemperatureScaling().fit(val).transform(val, imitate="released-protocol")
    assert again.imitates == "released-protocol"
    with pytest.raises(ValueError, match="unknown imitate 'whatever'"):
        TemperatureScaling().fit(test, imitate="whatever")
    assert list(IMITATED) == ["released-protocol"]


def test_a_refused_fit_leaves_the_old_one() -> None:
    fitted = TemperatureScaling().fit(split("val", ids=range(200)))
    before = fitted.temperature
    with pytest.raises(LeakError):
        fitted.fit(split("test", ids=range(200), seed=1))
    assert fitted.temperature == before
    assert fitted.provenance.split == "val"


def test_fingerprint_ignores_order_and_type_of_ids() -> None:
    named = (range(200), [str(i) for i in reversed(range(200))], range(1, 201))
    a, b, c = (split("val", ids=ids) for ids in named)
    assert a.fingerprint == b.fingerprint != c.fingerprint
    assert a.fingerprint.startswith("ids:")
    assert shared_points(check_fit(a), c) == 199
    assert split("val").fingerprint.startswith("content:")
    assert split("val").fingerprint != split("val", seed=1).fingerprint
    logits, targets = distorted(4)
    one = Predictions(targets=targets, logits=logits.bfloat16(), ids=torch.arange(4))
    assert one.fingerprint == Predictions(targets=targets, logits=logits, ids=[0, 1, 2, 3]).fingerprint
    assert Predictions(targets=targets, logits=logits.bfloat16()).fingerprint.startswith("content:")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "got none of them"),
        ({"logits": np.eye(2), "probabilities": np.eye(2)}, "got logits and probabilities"),
        ({"mean": np.ones(2)}, "got mean"),
        ({"logits": np.eye(3)}, "logits must have one row per target: expected 2, got 3"),
        ({"logits": np.eye(2), "ids": [1]}, "ids must have one row per target: expected 2, got 1"),
    ],
)
def test_bad_records(arrays: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Predictions(targets=np.array([0, 1]), **arrays)


def test_probabilities_cannot_be_calibrated_as_logits() -> None:
    p = Predictions(targets=np.array([0, 1]), probabilities=np.eye(2))
    with pytest.raises(ValueError, match="fitted on logits"):
        TemperatureScaling().fit(p)
    with pytest.raises(ValueError, match="applied to logits"):
        TemperatureScaling().fit(*distorted(50)).transform(p)


def test_npz_round_trip(tmp_path: Path) -> None:
    before = split("val", ids=[f"point-{i}" for i in range(200)])
    after = load_predictions(save_predictions(tmp_path / "p.npz", before))
    assert after.fingerprint == before.fingerprint
    assert (after.split, after.task, after.from_logits) == ("val", "classification", True)
    assert np.array_equal(after.logits, before.logits.numpy())
    (tmp_path / "run").mkdir()
    save_predictions(tmp_path / "run" / "predictions.npz", before)
    assert load_predictions(tmp_path / "run").fingerprint == before.fingerprint


@pytest.mark.parametrize("prefix", ["", "test."])
def test_npy_pairs_are_mapped(prefix: str, tmp_path: Path) -> None:
    logits, targets = distorted(30)
    np.save(tmp_path / f"{prefix}logits.npy", logits.numpy())
    np.save(tmp_path / f"{prefix}targets.npy", targets.numpy())
    np.save(tmp_path / f"{prefix}ids.npy", np.arange(30))
    found = load_predictions(tmp_path / f"{prefix}logits.npy", split="test")
    assert isinstance(found.logits, np.memmap)
    assert found.split == "test"
    assert found.fingerprint == Predictions(targets=targets, logits=logits, ids=range(30)).fingerprint
    if not prefix:
        assert load_predictions(tmp_path).fingerprint == found.fingerprint


def test_a_split_in_bytes_or_once_per_row_is_the_same_name(tmp_path: Path) -> None:
    for name, stored in {"bytes": np.bytes_("test"), "rows": np.array(["test", "test"])}.items():
        np.savez(tmp_path / f"{name}.npz", logits=np.eye(2), targets=np.array([0, 1]), split=stored)
        assert load_predictions(tmp_path / f"{name}.npz").is_test


def test_bad_files(tmp_path: Path) -> None:
    eye, y = np.eye(2), np.array([0, 1])
    np.savez(tmp_path / "none.npz", logits=eye)
    np.savez(tmp_path / "pickled.npz", logits=eye, targets=y, ids=np.array([{}, {}], dtype=object))
    np.savez(tmp_path / "val.npz", logits=eye, targets=y, split="val")
    (tmp_path / "torn.npz").write_bytes(b"PK nonsense")
    content = (tmp_path / "val.npz").read_bytes()
    for head, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):  # bit 0 of a member's flags: encrypted
        content = b"".join(
            part
            if number == 0
            else head + part[: flags - 4] + bytes([part[flags - 4] | 1]) + part[flags - 3 :]
            for number, part in enumerate(content.split(head))
        )
    (tmp_path / "encrypted.npz").write_bytes(content)
    np.save(tmp_path / "scores.npy", eye)
    for name, message in {
        "none.npz": "must hold the array 'targets', got logits",
        "pickled.npz": r"cannot use .*pickled\.npz: .*an array of Python objects",
        "torn.npz": r"cannot use .*torn\.npz: expected an \.npz file .*not a zip file",
        "encrypted.npz": r"cannot use .*encrypted\.npz: expected an \.npz file .*got an encrypted one",
        "scores.npy": r"expected a file name that ends in logits\.npy",
        "a.csv": r"must be an \.npz or \.npy file",
        "val.npz": "split must be 'val'",
    }.items():
        with pytest.raises(ValueError, match=message):
            load_predictions(tmp_path / name, split="test")
    with pytest.raises(FileNotFoundError, match="holds neither"):
        load_predictions(tmp_path)
