"""A finished run evaluated on corrupted images: made files of the published format, with few rows."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tailormix.data import images, load, shifted
from tailormix.data.shifted import CORRUPTIONS
from tailormix.experiments import building, read
from tailormix.experiments.running import run_experiment
from tailormix.experiments.shifts import missing_shifts
from tailormix.training import checkpoint, run_folder

ROWS = 4  # of each corruption and severity; published: 10 000


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CIFAR-10 and CIFAR-10-C with few rows; a batch file holds one label byte and 3072 pixels a row."""
    monkeypatch.setattr(shifted, "_IMAGES", ROWS)
    monkeypatch.setattr(images, "_CIFAR10_BATCH", 20)
    random = np.random.default_rng(0)
    batches = tmp_path / "cifar-10-batches-bin"
    batches.mkdir()
    for name in (*(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin"):
        rows = random.integers(0, 256, (20, 3073), dtype=np.uint8)
        rows[:, 0] = np.arange(20) % 10
        (batches / name).write_bytes(rows.tobytes())
    folder_c = tmp_path / "CIFAR-10-C"
    folder_c.mkdir()
    np.save(folder_c / "labels.npy", np.tile(np.arange(ROWS, dtype=np.uint8), 5))
    for kind in CORRUPTIONS:
        np.save(folder_c / f"{kind}.npy", random.integers(0, 256, (5 * ROWS, 32, 32, 3), dtype=np.uint8))
    monkeypatch.setenv("TAILORMIX_DATA", str(tmp_path))
    return tmp_path


def times(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_a_finished_run_is_evaluated_later_without_training_again(root: Path) -> None:
    settings = ["epochs=1", "batch=32", "accelerator=cpu", "data.limit=100"]
    settings += ["model=resnet8", "model.base_width=8", "method=erm"]
    plain = run_experiment(read("cifar10-cpu", settings), root / "run")
    assert "shifts" not in plain
    weights = times(root / "run" / "checkpoints")
    experiment = read("cifar10-cpu", [*settings, 'also=["cifar10-c"]'])
    evaluated = run_experiment(experiment, root / "run")
    assert times(root / "run" / "checkpoints") == weights
    assert {key: value for key, value in evaluated.items() if key != "shifts"} == plain
    assert evaluated == json.loads((root / "run" / run_folder.RESULT).read_text())
    found = evaluated["shifts"]["cifar10-c"]
    assert found["conditions"] == 5
    assert missing_shifts(["cifar10-c"], evaluated) == []

    model = building.build(experiment).model.eval()
    model.load_state_dict(dict(checkpoint.read(root / "run" / evaluated["best weights"]).tensors))
    right = []
    for severity in range(1, 6):
        for kind in CORRUPTIONS:
            test = load("cifar10-c", corruption=kind, severity=severity).test
            with torch.no_grad():
                right.append(
                    (model(test.batch(torch.arange(ROWS))[0]).argmax(1) == test.targets).float().mean()
                )
    assert found["before"]["accuracy"] == pytest.approx(float(torch.stack(right).mean()), abs=1e-6)
    assert found["after temperature"]["accuracy"] == pytest.approx(found["before"]["accuracy"])


def test_other_classes_are_refused(root: Path, tmp_path: Path) -> None:
    settings = ["epochs=1", "accelerator=cpu", 'also=["cifar10-c"]']
    with pytest.raises(ValueError, match="cifar10-c has 10 classes, but the model 2"):
        run_experiment(read("moons", settings), tmp_path / "moons")
