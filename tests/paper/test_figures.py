"""Every figure: files that are whole, facts that are JSON, numbers that can be told in advance."""

import io
import json
import math
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from sharing import made_once
from tailormix.experiments import read
from tailormix.experiments.running import run_experiment
from tailormix.paper.drawing import FigureResult
from tailormix.paper.figures import median_bars, mismatch, mixing_law, theorems, toys

SMALL = ["epochs=1", "batch=200", "accelerator=cpu"]
BLOCK = [{"title": "Digits", "where": {"data": {"name": "digits"}, "model": {"name": "mlp"}}}]
ERM = [{"title": "Digits", "where": {**BLOCK[0]["where"], "method": {"name": "erm"}}}]
PLAIN = [{"title": "ERM", "method": {"name": "erm"}}]
METHODS = {
    "mixup": {"name": "mixup", "alpha": 0.2},
    "lower": {"name": "quantile-mixup", "side": "lower"},
    "higher": {"name": "quantile-mixup", "side": "higher"},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run that was really trained, a second seed and other methods that only say so."""
    return made_once(tmp_path_factory, "figure-runs", make_runs)


def make_runs(root: Path) -> None:
    real = root / "erm" / "seed-0"
    run_experiment(read("digits-mlp", [*SMALL, "method=erm"], seed=0), real)
    pretend(real, root / "erm" / "seed-1", accuracy=0.25, seed=1)
    for number, (name, method) in enumerate(METHODS.items()):
        pretend(real, root / name / "seed-0", accuracy=0.5 + 0.1 * number, method=method)
    (root / "unfinished").mkdir()


def pretend(real: Path, path: Path, *, accuracy: float, **settings: object) -> None:
    record, result = (json.loads((real / name).read_text()) for name in ("experiment.json", "result.json"))
    record["experiment"] |= settings
    result["test"]["before"]["accuracy"] = accuracy
    path.mkdir(parents=True)
    for name, value in (("experiment.json", record), ("result.json", result)):
        (path / name).write_text(json.dumps(value))


def check(result: FigureResult, out: Path, name: str) -> None:
    assert result.files == (out / f"{name}.svg", out / f"{name}.png")
    assert ET.fromstring(result.files[0].read_text(encoding="utf-8")).tag.endswith("svg")
    picture = Image.open(io.BytesIO(result.files[1].read_bytes()))
    assert min(picture.size) > 300
    assert len(picture.convert("L").getcolors() or range(999)) > 10
    assert result.facts["caption"].endswith(".")
    assert json.loads(json.dumps(result.facts, allow_nan=False)) == result.facts
    assert sorted(path.name for path in out.iterdir()) == [f"{name}.png", f"{name}.svg"]


@pytest.mark.parametrize(("coefficients", "name"), mismatch.COEFFICIENTS.items())
def test_mismatch(runs: Path, tmp_path: Path, coefficients: str, name: str) -> None:
    state = torch.get_rng_state()
    settings = {"coefficients": coefficients, "models": ERM, "pairs": 500, "bins": 4}
    result = mismatch.make(settings, runs, tmp_path / "out")
    check(result, tmp_path / "out", name)
    assert torch.equal(torch.get_rng_state(), state)
    facts = result.facts["models"]["Digits"]
    assert (facts["run"], facts["split"], facts["all"]["pairs"]) == ("erm/seed-0", "test", 500)
    assert facts["all"]["laws"].keys() == {"unmixed", "uniform", "similarity-kernel"}
    curve = facts["all"]["laws"]["uniform"]["curve"]
    assert sum(curve["count"]) == 500
    share = np.dot(curve["agreement"], curve["count"]) / 500
    assert share == pytest.approx(facts["all"]["laws"]["uniform"]["agreement"])
    assert facts["right"]["laws"]["unmixed"]["agreement"] == 1


def test_median_bars(runs: Path, tmp_path: Path) -> None:
    bars = [{"title": "Mixup", "method": {"name": "mixup", "alpha": 0.2}}]
    bars = [bar for bar in median_bars.DEFAULTS["bars"] if bar["title"] != "Mixup"] + bars
    result = median_bars.make({"blocks": BLOCK, "bars": bars}, runs, tmp_path / "out")
    check(result, tmp_path / "out", "median-bars")
    erm = result.facts["blocks"]["Digits"]["ERM"]["accuracy"]
    files = [runs / "erm" / f"seed-{seed}" / "result.json" for seed in (0, 1)]
    values = [json.loads(file.read_text())["test"]["before"]["accuracy"] for file in files]
    assert values[1] == 0.25
    assert erm["values"] == values
    assert erm["mean"] == pytest.approx(sum(values) / 2)
    assert erm["std"] == pytest.approx(abs(values[0] - values[1]) / math.sqrt(2))
    assert result.facts["blocks"]["Digits"]["Lower 0.5"]["accuracy"]["mean"] == pytest.approx(0.6)
    assert result.facts["blocks"]["Digits"]["Lower 0.5"]["nll"]["std"] is None


def test_density(tmp_path: Path) -> None:
    result = mixing_law.make({"cells": 21}, tmp_path, tmp_path / "out")
    check(result, tmp_path / "out", "density")
    laws = {row["distance"]: row for row in result.facts["laws"]}
    assert laws[0.5]["tau"] == pytest.approx(math.exp(4))
    assert laws[1.0]["strongly mixed"] == pytest.approx(0.5)
    shares = [row["strongly mixed"] for row in result.facts["laws"]]
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize(("name", "make"), [("moons", toys.make_moons), ("circles", toys.make_circles)])
def test_toys(name: str, make, tmp_path: Path) -> None:
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    settings = {"epochs": 30, "lr": 0.05, "fresh": 200, "distances": ["plain"]}
    result = make(settings, tmp_path, tmp_path / "out")
    check(result, tmp_path / "out", name)
    assert list(result.facts["scores"]) == ["ERM", "Mixup", "SK Mixup, plain distance"]
    assert result.facts["scores"]["ERM"]["fresh"]["accuracy"] > 0.6
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def test_toys_repeat_themselves(tmp_path: Path) -> None:
    settings = {"epochs": 3, "fresh": 50, "distances": []}
    first, second = (toys.make_moons(settings, tmp_path, tmp_path / name) for name in "ab")
    assert first.facts == second.facts
    assert [file.read_bytes() for file in first.files] == [file.read_bytes() for file in second.files]


def test_theorems(tmp_path: Path) -> None:
    result = theorems.make({"instances": 60}, tmp_path, tmp_path / "out")
    check(result, tmp_path / "out", "theorems")
    first, second = result.facts["theorem 3.1"], result.facts["theorem 3.2"]
    assert first["with a gap"] == first["gaps whose mixes lie outside"] == 60
    assert sum(first["widest gap between points of"].values()) == 60
    assert first["largest error of the length"] < 1e-12
    assert second["sampled"]["below the bound"] == 0
    assert second["arg-max"]["below the bound"] > 0
    example = result.facts["counter-example"]
    assert (example["mixed"], example["W1"], example["R"], example["bound"]) == (1.5, 6, 12, 0.125)
    assert example["noise"] == {"sampled": 0.25, "coupled": 0.25, "arg-max": 0.0}


BARS = {"blocks": BLOCK, "bars": PLAIN, "metrics": ["rmse"]}


@pytest.mark.parametrize(
    ("make", "settings", "message"),
    [
        (mixing_law.make, {"tau": 1}, "unknown setting of the figure 'tau'"),
        (toys.make_moons, {"distances": ["cubed"]}, "unknown distance 'cubed'"),
        (toys.make_circles, {"epochs": 0}, "epochs must be >= 1, got 0"),
        (theorems.make, {"instances": 0}, "instances must be >= 1, got 0"),
        (mismatch.make, {"coefficients": "beta"}, "unknown coefficients 'beta'"),
        (mismatch.make, {}, "there is no finished run with .*cifar10"),
        (median_bars.make, BARS, "unknown metric 'rmse'"),
    ],
)
def test_bad_settings_write_nothing(make, settings, message, runs: Path, tmp_path: Path) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        make(settings, runs, tmp_path / "out")
    assert not (tmp_path / "out").exists()
