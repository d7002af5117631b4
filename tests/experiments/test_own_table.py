"""From a table of the user to a run that answers for new tables, in the units of the table."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tailormix
from tailormix.calibration.predictions import load_predictions
from tailormix.experiments import Experiment
from tailormix.experiments.running import run_experiment
from tailormix.training import RunError

COLOURS = ("red", "green", "blue")


def test_regression_is_reported_in_the_units_of_the_table(tmp_path: Path) -> None:
    """The RMSE is that of the stored means and of the prices as they stand in the file."""
    random = np.random.default_rng(0)
    size, price = random.normal(size=80), []
    lines = ["id;size;colour;sold;price"]
    for k in range(80):
        price.append(round(3e5 + 5e4 * size[k] + 1e4 * (k % 3), 2))
        cell = "NA" if k % 10 == 0 else f"{size[k]:.3f}".replace(".", ",")
        lines.append(
            f"{k};{cell};{COLOURS[k % 3]};{'yes' if k % 2 else 'no'};{price[k]:.2f}".replace(".", ",")
        )
    path = tmp_path / "houses.csv"
    path.write_text("\n".join(lines))
    values = {
        "data": {"name": "table", "path": str(path)},
        "model": {"name": "fcn3"},
        "epochs": 1,
        "mc_samples": 5,
        "accelerator": "cpu",
    }
    result = run_experiment(Experiment.from_dict(values), tmp_path / "run")
    stored = load_predictions(tmp_path / "run" / "predictions.npz")
    np.testing.assert_allclose(stored.targets[:, 0], np.array(price)[stored.ids], rtol=1e-6)
    error = np.sqrt(np.mean((stored.mean[:, 0] - np.array(price)[stored.ids]) ** 2))
    np.testing.assert_allclose(result["test"]["before"]["rmse"], error, rtol=1e-5)
    assert 1e5 < stored.mean.mean() < 5e5
    run = tailormix.load_run(tmp_path / "run")
    assert run.preprocessing.output_names() == [
        "size",
        "sold",
        "colour=blue",
        "colour=green",
        "colour=red",
        "size is missing",
    ]
    shuffled = tmp_path / "new.csv"
    shuffled.write_text("colour,sold,size\nred,no,0.5\nviolet,,NA\n")
    assert run.predict(shuffled).shape == (2,)


def test_a_changed_table_is_not_resumed_nor_passed_off_as_finished(tmp_path: Path) -> None:
    """The same bytes in a new file are the same data, and a finished run does not need them."""
    path = tmp_path / "points.csv"
    lines = ["a,b,kind", *(f"{k % 7},{k % 5},{'x' if k % 3 else 'y'}" for k in range(60))]
    path.write_text("\n".join(lines))
    values = {
        "data": {"name": "table", "path": str(path)},
        "model": {"name": "mlp"},
        "epochs": 1,
        "accelerator": "cpu",
    }
    experiment = Experiment.from_dict(values)
    first = run_experiment(experiment, tmp_path / "run")
    path.write_text("\n".join(lines))
    assert run_experiment(experiment, tmp_path / "run") == first
    path.write_text("\n".join([lines[0], *lines[:0:-1]]))  # as many bytes
    with pytest.raises(RunError, match=r"the data in .*points\.csv are not what .*run was started with"):
        run_experiment(experiment, tmp_path / "run")
    path.unlink()
    assert run_experiment(experiment, tmp_path / "run") == first


def test_a_changed_folder_of_pictures_is_other_data(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    for name in ("a", "b"):
        (folder / name).mkdir(parents=True)
        for k in range(12):
            Image.new("L", (8, 8), 9 * k).save(folder / name / f"{k}.png")
    values = {
        "data": {"name": "folder", "path": str(folder), "image_size": 8, "validation": 0.25, "test": 0.25},
        "model": {"name": "mlp", "hidden": [4]},
        "epochs": 1,
        "accelerator": "cpu",
    }
    experiment = Experiment.from_dict(values)
    run_experiment(experiment, tmp_path / "run")
    (folder / "a" / "3.png").unlink()
    with pytest.raises(RunError, match=r"the data in .*pictures are not what"):
        run_experiment(experiment, tmp_path / "run")
