"""Features of every source: parts, ids, corruptions, resuming; then training and predicting on them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from cli.calling import call
from tailormix.data import load
from tailormix.data.corrupt import corrupt, corrupt_in_chunks
from tailormix.experiments.features import extraction
from tailormix.experiments.features.backbones import Backbone
from tailormix.experiments.features.extraction import extract
from tailormix.experiments.features.sources import (
    Source,
    folder_source,
    image_source,
    read_source,
    with_corruptions,
)

COLUMNS = {"text": "text", "label": "label"}
CODE = """
import torch

def letters(texts):
    return torch.tensor([[float(text.count(letter)) for letter in "abcxyz"] for text in texts])

def colours(images):
    return torch.cat([images.mean((2, 3)), images.std((2, 3))], 1)

def counts(texts):
    return letters(texts) * 1e6

def lacking(texts):
    return {}["weights"]
"""


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(CODE)
    return tmp_path


def arrays(path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        return dict(file)


def means(images: torch.Tensor) -> torch.Tensor:
    return images.float().mean((2, 3))


def test_from_texts_to_predictions(code: Path) -> None:
    random = np.random.default_rng(0)
    rows = ["id,text,label"]
    for number in range(120):
        first = number % 2
        words = "".join(random.choice(list("abc" if first else "xyz"), 8)) + random.choice(["a", "z"])
        rows.append(f'{number},"{words}, please",{"abc" if first else "xyz"}')
    (code / "mail.csv").write_text("\n".join(rows))
    (code / "new.txt").write_text("abccba\nzyxxyz\n")
    done = call("features", "mail.csv", "--model", "mine.py:letters", "-o", "mail.npz")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "mail.npz: 120 rows (train 120)" in done.stdout
    assert "tailormix train features --set data.path=mail.npz" in done.stdout
    assert not (code / "mail.npz.chunks").exists()
    done = call("train", "features", "--set", "data.path=mail.npz", "--set", "epochs=3", "--out", "runs")
    assert done.exit_code == 0, done.stderr
    (run,) = (code / "runs").glob("*/seed-0")
    assert json.loads((run / "result.json").read_text())["test"]["before"]["accuracy"] > 0.9
    assert call("features", "new.txt", "--model", "mine.py:letters", "-o", "new.npz").exit_code == 0
    done = call("predict", run, "new.npz")
    assert [line.split(",")[1] for line in done.stdout.splitlines()] == ["prediction", "abc", "xyz"]
    done = call("predict", run, "new.txt")
    assert done.exit_code == 2
    assert "the model takes features, as tailormix features --model mine.py:letters makes them" in done.stderr
    names = ",".join(f"x{column}" for column in range(6))
    np.savetxt("new.csv", arrays(code / "new.npz")["x"], delimiter=",", header=names, comments="")
    assert call("predict", run, "new.csv").stdout == call("predict", run, "new.npz").stdout


def test_a_table_whose_classes_have_another_name_says_how_to_name_it(code: Path) -> None:
    (code / "other.csv").write_text("text,kind\nabc,one\nxyz,two\n")
    arguments = ("features", "other.csv", "--model", "mine.py:letters", "--force", "-o", "other.npz")
    assert "no row has a class: to train on them, name the column" in call(*arguments).stdout
    assert "other.npz: 2 rows (train 2)" in call(*arguments, "--label", "kind").stdout


def test_a_folder_of_images(code: Path) -> None:
    for name, colour in (("red", (200, 30, 30)), ("blue", (30, 30, 200))):
        (code / "photos" / name).mkdir(parents=True)
        for number in range(10):
            pixels = np.clip(np.array(colour) + np.random.default_rng(number).normal(0, 9, (9, 7, 3)), 0, 255)
            Image.fromarray(pixels.astype(np.uint8)).save(code / "photos" / name / f"{number}.png")
    done = call("features", "photos", "--model", "mine.py:colours", "--size", "6", "-o", "photos.npz")
    assert done.exit_code == 0, done.stderr
    found = arrays(code / "photos.npz")
    assert found["class_names"].tolist() == ["blue", "red"]
    assert set(found["part"].tolist()) == {"train"}
    assert found["x"].shape == (20, 6)
    splits = load("features", path="photos.npz", validation=0.2, test=0.2)
    assert [len(part) for part in (splits.train, splits.validation, splits.test)] == [13, 3, 4]
    new = read_source("photos/red", options={}, columns=COLUMNS, size=6)
    assert [(part.name, len(part), part.labels.unique().tolist()) for part in new.parts] == [
        ("new", 10, [-1])
    ]


def test_folders_of_parts(code: Path) -> None:
    for part in ("train", "test"):
        for name in ("red", "blue"):
            (code / "photos" / part / name).mkdir(parents=True)
            Image.new("RGB", (5, 5)).save(code / "photos" / part / name / "0.png")
    source = read_source("photos", options={}, columns=COLUMNS, size=5)
    assert [(part.name, len(part), part.ids.tolist()) for part in source.parts] == [
        ("train", 2, [0, 1]),
        ("test", 2, [2, 3]),
    ]
    (code / "photos" / "other").mkdir()
    with pytest.raises(ValueError, match="beside train the folders validation, test alone, got other"):
        read_source("photos", options={}, columns=COLUMNS, size=5)


def test_corrupted_parts_are_those_of_the_data_set(tmp_path: Path) -> None:
    source = with_corruptions(image_source("digits", {"test": 0.5}, 8), ["gaussian-noise"], [1, 3], 700)
    backbone = Backbone("means", means, None, size=8)
    parts = extract(source, backbone, tmp_path / "f.npz")
    assert parts == {"train": 899, "test": 898, "gaussian-noise-1": 700, "gaussian-noise-3": 700}
    file = arrays(tmp_path / "f.npz")
    splits = load(
        "digits", validation=0.0, test=0.5, corrupt="gaussian-noise", severities=[3], corrupt_limit=700
    )
    noisy = splits.shifts["gaussian-noise-3"]
    rows = file["part"] == "gaussian-noise-3"
    assert file["id"][rows].tolist() == noisy.ids.tolist()
    assert file["y"][rows].tolist() == noisy.targets.tolist()
    x = noisy.make().inputs.float().mean((2, 3)) * 255 / 16  # type: ignore[union-attr]
    np.testing.assert_allclose(file["x"][rows], x, atol=4)  # bytes from 0 to 16 are coarse


def test_chunks_do_not_share_their_noise() -> None:
    images = torch.full((1000, 1, 4, 4), 128, dtype=torch.uint8)
    found = corrupt_in_chunks(images, "gaussian-noise", 3)
    assert not torch.equal(found[:500], found[500:])
    assert torch.equal(found, corrupt_in_chunks(images, "gaussian-noise", 3))
    assert not torch.equal(found[:500], corrupt(images[:500], "gaussian-noise", 3, seed=0))


def test_an_interrupted_extraction_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, out, seen = image_source("digits", {}, 8), tmp_path / "f.npz", []

    def counting(images: torch.Tensor) -> torch.Tensor:
        seen.append(len(images))
        return means(images)

    def stop(part: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    backbone = Backbone("means", counting, None, size=8)
    with pytest.raises(KeyboardInterrupt):
        extract(source, backbone, out, batch=100, progress=stop)
    assert sum(seen) == 500
    assert not out.exists()
    extract(source, backbone, out, batch=100)
    assert sum(seen) == 1797
    again = tmp_path / "g.npz"
    extract(source, backbone, again, batch=37)
    np.testing.assert_allclose(arrays(out)["x"], arrays(again)["x"], atol=1e-5)
    with pytest.raises(KeyboardInterrupt):
        extract(source, backbone, out, progress=stop)
    seen.clear()
    other = Backbone("others", counting, None, size=8)
    extract(source, other, out)
    assert sum(seen) == 1797  # chunks of another model are not taken
    facts = json.loads(str(arrays(out)["source"]))
    assert facts["model"] == "others"
    assert facts["parts"] == {"train": 1438, "test": 359}
    assert extraction.FACTS not in [path.name for path in tmp_path.iterdir()]


def numbered(texts: list[str]) -> torch.Tensor:
    return torch.tensor([[float(text)] for text in texts])


def stop_at_once(part: str, done: int, total: int) -> None:
    raise KeyboardInterrupt


def test_chunks_of_other_texts_are_not_taken(tmp_path: Path) -> None:
    table, out, backbone = tmp_path / "many.csv", tmp_path / "f.npz", Backbone("numbers", numbered, None)

    def write(numbers: range, odd: str) -> Source:
        rows = (f"{number},{odd if number % 2 else 'even'}" for number in numbers)
        table.write_text("\n".join(["text,label", *rows]))
        return read_source(str(table), options={}, columns=COLUMNS, size=8)

    for numbers, odd in ((range(1200, 2400), "odd"), (range(1200, 2400), "uneven")):
        with pytest.raises(KeyboardInterrupt):
            extract(write(range(1200), "odd"), backbone, out, progress=stop_at_once)
        extract(write(numbers, odd), backbone, out)
        found = arrays(out)
        assert found["x"][:, 0].tolist() == list(numbers)  # rows 0 to 499 too, which had other words
        assert found["class_names"].tolist() == ["even", odd]
        assert json.loads(str(found["source"]))["data sha256"] == write(numbers, odd).sha256


def test_chunks_of_other_images_are_not_taken(code: Path) -> None:
    for name, colour in (("blue", 10), ("red", 20)):
        (code / "photos" / name).mkdir(parents=True)
        Image.new("RGB", (8, 8), (colour,) * 3).save(code / "photos" / name / "0.png")
    backbone, out = Backbone("means", means, None, size=8), code / "f.npz"
    with pytest.raises(KeyboardInterrupt):
        extract(folder_source(Path("photos"), 8), backbone, out, progress=stop_at_once)
    Image.new("RGB", (64, 64), (200,) * 3).save(code / "photos" / "blue" / "0.png")  # more bytes
    extract(folder_source(Path("photos"), 8), backbone, out)
    assert arrays(out)["x"].tolist() == [[200] * 3, [20] * 3]


def test_features_that_are_too_large_for_half_precision(code: Path) -> None:
    (code / "mail.csv").write_text("text,label\nabc,one\naax,two\n")
    arguments = ("features", "mail.csv", "--model", "mine.py:counts", "-o", "mail.npz")
    done = call(*arguments, "--half")
    assert done.exit_code == 2
    assert done.stderr == (
        "error: --half needs features between -65504 and 65504, got 2e+06 in size in the part 'train': "
        "leave --half out\n"
    )
    assert sorted(path.name for path in code.iterdir()) == ["mail.csv", "mine.py"]
    assert call(*arguments).exit_code == 0
    assert arrays(code / "mail.npz")["x"].max() == 2e6


def test_an_encoder_that_fails_is_named(code: Path) -> None:
    (code / "mail.csv").write_text("text,label\nabc,one\nxyz,two\n")
    done = call("features", "mail.csv", "--model", "mine.py:lacking", "-o", "mail.npz")
    assert done.exit_code == 2
    assert done.stderr == "error: plug-in mine.py:lacking: it raised KeyError: 'weights'\n"


def test_half_precision(tmp_path: Path) -> None:
    extract(
        image_source("digits", {}, 8),
        Backbone("means", means, None, size=8),
        tmp_path / "f.npz",
        precision="float16",
    )
    assert arrays(tmp_path / "f.npz")["x"].dtype == np.float16
    assert len(load("features", path=tmp_path / "f.npz", limit=100).train) == 80
