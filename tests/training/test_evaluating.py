"""The released protocol on purpose: selection and temperature on the test split, marked wherever they go."""

import json
from pathlib import Path

import pytest

from tailormix.experiments import read
from tailormix.experiments.experiment import fingerprint
from tailormix.training import Settings, run_folder
from training.runs import rows_of, train


def test_a_run_that_imitates_says_so(tmp_path: Path) -> None:
    result = train(tmp_path, "imitate=released-protocol")
    rows = rows_of(tmp_path)
    assert "validation" not in rows[0]
    assert result["imitates"] == "released-protocol"
    assert result["selection"]["split"] == "test"
    assert result["selection"]["score"] == max(row["test"]["accuracy"] for row in rows)
    assert result["test"]["before"]["accuracy"] == result["selection"]["score"]
    fitted = result["temperature"]["fitted on"]
    assert (fitted["split"], fitted["imitates"]) == ("test", "released-protocol")
    assert result["test"]["after temperature"]["nll"] <= result["test"]["before"]["nll"] + 1e-9
    record = json.loads((tmp_path / run_folder.EXPERIMENT).read_text())
    assert record["experiment"]["imitate"] == "released-protocol"


def test_without_the_key_nothing_sees_the_test_split(tmp_path: Path) -> None:
    result = train(tmp_path)
    assert "imitates" not in result
    assert result["selection"]["split"] == result["temperature"]["fitted on"]["split"] == "validation"
    assert result["temperature"]["fitted on"]["imitates"] is None
    assert "after temperature" in result["validation"]


def test_the_key_counts_for_the_folder_and_is_checked() -> None:
    plain, leaking = read("moons"), read("moons", ["imitate=released-protocol"])
    assert fingerprint(plain) != fingerprint(leaking)
    assert fingerprint(plain) == fingerprint(read("moons", ['also=["cifar10-c"]']))  # same training
    with pytest.raises(ValueError, match="did you mean 'released-protocol'"):
        Settings(imitate="released")
    with pytest.raises(ValueError, match="unknown data set of also 'cifar10-d'"):
        read("moons", ['also=["cifar10-d"]'])
