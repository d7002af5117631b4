"""Runs evaluated on shifted test rows: published sets later, further parts of the data at once."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch.nn import functional

from tailormix.data import images, load, shifted
from tailormix.data.custom import own_splits
from tailormix.data.preprocessing import ArrayPreprocessing
from tailormix.data.preprocessing.targets import Targets
from tailormix.data.shifted import CORRUPTIONS
from tailormix.experiments import building, load_run, read
from tailormix.experiments.running import run_experiment, run_together
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


def test_corrupted_images_are_evaluated_each_and_as_their_mean(tmp_path: Path) -> None:
    settings = [
        "epochs=1",
        "accelerator=cpu",
        "data.corrupt=gaussian-noise,contrast",
        "data.severities=[1, 5]",
    ]
    experiment = read("digits-mlp", [*settings, "data.corrupt_limit=120"])
    result = run_experiment(experiment, tmp_path / "run")
    found = result["shifts"]["corrupted"]
    parts = ["gaussian-noise-1", "gaussian-noise-5", "contrast-1", "contrast-5"]
    assert list(found["parts"]) == parts
    assert found["conditions"] == 4
    run, temperature = load_run(tmp_path / "run"), result["temperature"]["value"]
    right, losses = [], []
    for part in parts:
        split = building.load_data(experiment).shifts[part].make()
        logits = run.model(split.batch(torch.arange(120))[0]).detach().double()
        stages = found["parts"][part]
        right.append((logits.argmax(1) == split.targets).double().mean().item())
        losses.append(functional.cross_entropy(logits / temperature, split.targets).item())
        assert stages["before"]["accuracy"] == pytest.approx(right[-1])
        assert stages["after temperature"]["nll"] == pytest.approx(losses[-1], rel=1e-4)
    assert found["before"]["accuracy"] == pytest.approx(np.mean(right))
    assert found["after temperature"]["nll"] == pytest.approx(np.mean(losses), rel=1e-4)
    assert run_experiment(experiment, tmp_path / "run") == result  # nothing is left to do


@pytest.fixture
def features(tmp_path: Path) -> Path:
    """Three classes around three points, and unknown inputs around a fourth."""
    random = np.random.default_rng(0)
    parts = np.repeat(["train", "validation", "test", "unknown"], [90, 60, 60, 40])
    y = np.where(parts == "unknown", -1, np.arange(250) % 3)
    centres = np.array([[2, 0], [0, 2], [-2, -2], [0.5, 0.5]])
    np.savez(tmp_path / "f.npz", x=(centres[y] + random.normal(size=(250, 2))).astype("f4"), y=y, part=parts)
    return tmp_path / "f.npz"


def test_unknown_inputs_are_detected_by_low_confidence(features: Path, tmp_path: Path) -> None:
    settings = [f"data.path={features}", "epochs=3", "accelerator=cpu"]
    result = run_experiment(read("features", settings), tmp_path / "run")
    found = result["shifts"]["unknown"]
    run = load_run(tmp_path / "run")
    with np.load(features) as file:
        x, part = file["x"], file["part"]
    unknown = part[np.isin(part, ["test", "unknown"])] == "unknown"
    for stage, calibrated in (("before", False), ("after temperature", True)):
        sure = run.predict_proba(x[np.isin(part, ["test", "unknown"])], calibrated=calibrated).max(1)
        assert found[stage]["auroc"] == pytest.approx(roc_auc_score(unknown, -sure), abs=1e-3)
        assert 0 <= found[stage]["fpr95"] <= 1
    assert found["before"]["auroc"] > 0.5


def test_runs_that_train_together_have_the_same_shifts(features: Path, tmp_path: Path) -> None:
    settings = [f"data.path={features}", "model.dropout=0.0", "method=erm", "epochs=2", "accelerator=cpu"]
    experiments = [read("features", settings, seed=seed) for seed in (0, 1)]
    found = run_together(experiments, [tmp_path / f"together-{seed}" for seed in (0, 1)])
    for seed, (experiment, result) in enumerate(zip(experiments, found, strict=True)):
        alone = run_experiment(experiment, tmp_path / f"alone-{seed}")
        assert isinstance(result, dict)
        for metric, value in alone["shifts"]["unknown"]["before"].items():
            assert result["shifts"]["unknown"]["before"][metric] == pytest.approx(value, abs=1e-3)


def test_a_table_split_by_a_covariate(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    (tmp_path / "keel").mkdir()
    rows = [f"{random.normal() + k % 2:.3f},{random.normal():.3f},{k % 2}" for k in range(200)]
    (tmp_path / "keel" / "iris.dat").write_text("\n".join(rows))
    settings = ["data=keel", f"data.root={tmp_path}", "data.table=iris", "data.shift=covariate"]
    result = run_experiment(read("features", [*settings, "epochs=1", "accelerator=cpu"]), tmp_path / "run")
    assert set(result["shifts"]) == {"covariate"}
    assert set(result["shifts"]["covariate"]) == {"before", "after temperature"}
    assert result["shifts"]["covariate"]["before"]["nll"] > 0


def test_shifted_rows_of_a_regression_are_in_its_units(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0)).double()
    rows = torch.arange(80).split(20)
    targets = Targets(100 + 10 * x.sum(1, keepdim=True))
    splits = own_splits("made", x, ArrayPreprocessing((3,)), targets, rows[:3], shifts={"later": rows[3]})
    monkeypatch.setattr(building.data, "load", lambda *_, **__: splits)
    result = run_experiment(
        read("airfoil", ["epochs=1", "accelerator=cpu", "mc_samples=2"]), tmp_path / "run"
    )
    found = result["shifts"]["later"]
    assert set(found) == {"before", "after variance scaling"}
    assert 1 < found["before"]["rmse"] < 100
    run = load_run(tmp_path / "run")
    error = run.predict(x[rows[3]], dropout=False) - targets.values[rows[3], 0].numpy()
    assert found["before"]["rmse"] == pytest.approx(np.sqrt((error**2).mean()), rel=0.3)
