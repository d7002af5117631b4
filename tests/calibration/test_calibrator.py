"""Saving and loading every calibrator in both formats, with what it was fitted on."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from support_calibration import distorted, gaussian, split
from tailormix import calibration
from tailormix.calibration import CALIBRATORS, TemperatureScaling, VectorScaling
from tailormix.calibration.predictions import LeakError, Predictions


def fitted(name: str) -> tuple[object, object]:
    """Return a fitted calibrator and something to transform."""
    calibrator = CALIBRATORS[name]()
    if name == "variance":
        mean, std, targets = gaussian(50)
        val = Predictions(targets=targets, mean=mean, std=std, ids=range(50), split="val")
        return calibrator.fit(val), std
    return calibrator.fit(split("val", ids=[f"val-{i}" for i in range(200)])), distorted(20)[0]


@pytest.mark.parametrize("ending", ["json", "safetensors"])
@pytest.mark.parametrize("name", CALIBRATORS)
def test_round_trip(name: str, ending: str, tmp_path: Path) -> None:
    before, x = fitted(name)
    for given in (np.asarray(x), torch.as_tensor(x)):
        assert isinstance(before.transform(given), type(given))
    path = before.save(tmp_path / f"one.{ending}")
    for after in (calibration.load(path), type(before).load(path)):
        assert type(after) is type(before)
        assert np.array_equal(np.asarray(after.transform(x)), np.asarray(before.transform(x)))
        assert after.provenance.as_dict() == before.provenance.as_dict()
        assert np.array_equal(after.provenance.points, before.provenance.points)
    assert [file.name for file in tmp_path.iterdir()] == [f"one.{ending}"]


@pytest.mark.parametrize("ending", ["json", "safetensors"])
def test_the_guard_survives_saving(ending: str, tmp_path: Path) -> None:
    path = TemperatureScaling().fit(split("val", ids=range(200))).save(tmp_path / f"t.{ending}")
    with pytest.raises(LeakError, match="1 of these 200 points"):
        calibration.load(path).transform(split("test", ids=range(199, 399), seed=1))


def test_imitation_is_written_down(tmp_path: Path) -> None:
    scaler = TemperatureScaling().fit(split("test", ids=range(200)), imitate="released-protocol")
    stored = json.loads(scaler.save(tmp_path / "t.json").read_text())
    assert stored["provenance"]["imitates"] == "released-protocol"
    assert stored["provenance"]["split"] == "test"
    assert stored["facts"]["status"] == "converged"
    again = calibration.load(tmp_path / "t.json").transform(split("test", ids=range(200)))
    assert again.imitates == "released-protocol"


def test_bad_files(tmp_path: Path) -> None:
    scaler = TemperatureScaling().fit(*distorted(50))
    with pytest.raises(ValueError, match=r"must end in .json or .safetensors, got 't.pkl'"):
        scaler.save(tmp_path / "t.pkl")
    scaler.save(tmp_path / "t.json")
    with pytest.raises(ValueError, match="kind must be 'vector', got 'temperature'"):
        VectorScaling.load(tmp_path / "t.json")
    (tmp_path / "bad.json").write_text("{}")
    (tmp_path / "half.json").write_text('{"format": ')
    (tmp_path / "bad.safetensors").write_bytes(b"nonsense")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    for name in ("bad.json", "half.json", "bad.safetensors", "deep.json"):
        with pytest.raises(ValueError, match="cannot read a calibrator"):
            calibration.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        calibration.load(tmp_path / "missing.json")


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        *[
            ("facts", "temperature", value, "temperature must be")
            for value in ({}, [[1.0]], {"a": {"b": 1}}, "1", None, True, -1.0, 0, float("nan"))
        ],
        ("facts", "status", {"converged": True}, "status must be"),
        ("facts", "prior", [0.3], "prior must be"),
        ("facts", "more", 1, "unexpected keyword argument 'more'"),
        ("provenance", "samples", {"n": 3}, "samples must be"),
        ("provenance", "split", ["val"], "split must be"),
        ("arrays", "provenance.points", {"dtype": "<U3", "values": ["a"]}, "points must be"),
        ("arrays", "provenance.points", [[]], "list indices"),
    ],
)
def test_values_of_another_type_are_named(
    section: str, key: str, value: object, message: str, tmp_path: Path
) -> None:
    path = TemperatureScaling().fit(split("val", ids=range(200))).save(tmp_path / "t.json")
    stored = json.loads(path.read_text())
    stored[section][key] = value
    path.write_text(json.dumps(stored))
    with pytest.raises(ValueError, match=f"cannot read a calibrator from {path}: .*{message}"):
        calibration.load(path)


def test_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scaler = TemperatureScaling().fit(*distorted(50))
    path = scaler.save(tmp_path / "t.json")
    old = path.read_text()
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        TemperatureScaling().fit(*distorted(60)).save(path)
    assert path.read_text() == old
    assert len(list(tmp_path.iterdir())) == 1
