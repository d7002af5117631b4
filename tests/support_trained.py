"""Small runs that can be loaded: arrays, a table and images, trained for one epoch."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from tailormix.experiments import Experiment, run_experiment

X = np.random.default_rng(0).normal(50, 9, (120, 3))
COLOURS = ("blue", "green", "red")


def train(folder: Path, model: str | dict[str, Any], **data: Any) -> Path:
    """A run of one epoch into ``folder``; ``data`` is the section of that name."""
    experiment = {
        "data": data if "path" not in data else {"validation": 0.25, "test": 0.25, **data},
        "model": {"name": model} if isinstance(model, str) else model,
        "method": {"name": "erm"},
        "loss": {"name": "default"},
        "epochs": 1,
        "mc_samples": 5,
        "accelerator": "cpu",
    }
    run_experiment(Experiment.from_dict(experiment), folder)
    return folder


def train_arrays(folder: Path, targets: str, model: str) -> Path:
    """A run on the 120 rows of X: ``classes`` 0 to 2, ``values`` or ``pairs`` of values."""
    values = X.sum(1) / 9
    y = {"classes": np.arange(120) % 3, "values": values, "pairs": np.stack([values, -3 * values], 1)}
    np.savez(folder / "rows.npz", x=X, y=y[targets])
    return train(folder / "run", model, name="npz", path=str(folder / "rows.npz"))


def train_table(folder: Path) -> Path:
    """A classifier of fruits by a number, a colour with gaps and a truth value; ``id`` names the rows."""
    write_table(folder / "fruits.csv", 120, fruit=True)
    return train(folder / "run", "mlp", name="table", path=str(folder / "fruits.csv"))


def write_table(path: Path, rows: int, *, fruit: bool) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "size", "colour", "ripe", *(["fruit"] if fruit else [])])
        for row in range(rows):
            colour = COLOURS[row % 3] if row % 7 else ""
            cells = [f"n{row}", f"{X[row, 0]:.3f}", colour, "yes" if row % 2 else "no"]
            writer.writerow([*cells, *([("apple", "pear, ripe")[row % 2]] if fruit else [])])


def train_images(folder: Path) -> Path:
    """A classifier of dark and light pictures of 12 x 10 pixels, brought to 8 x 8."""
    import PIL.Image

    draw = np.random.default_rng(0)
    for name, low in (("dark", 0), ("light", 128)):
        (folder / "images" / name).mkdir(parents=True)
        for number in range(20):
            pixels = draw.integers(low, low + 128, (12, 10, 3)).astype(np.uint8)
            PIL.Image.fromarray(pixels).save(folder / "images" / name / f"{number:02}.png")
    return train(folder / "run", "resnet8", name="folder", path=str(folder / "images"), image_size=8)
