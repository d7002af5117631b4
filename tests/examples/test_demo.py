"""The demo runs and goes on from where it was; its toys know their truth."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import i0e
from torch import nn

from helpers import ROOT

EXAMPLES = ROOT / "examples"
METHODS = ("Plain training", "Mixup", "SK Mixup")


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import demo_toys

    return demo_toys


def test_demo_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import demo
    import demo_runs

    picture = tmp_path / "images" / "demo.png"
    seeds = ["--seeds", "2", "--run-seeds", "1"]
    options = ["--out", str(tmp_path), *seeds, "--epochs", "20", "--run-epochs", "2", "--jobs", "1"]
    demo.main([*options, "--png", str(picture)])
    said = capsys.readouterr().out
    check_tables(said)
    assert said.rstrip().endswith("in a browser.")
    assert str(tmp_path) in said.replace("\n", "")
    check_page((tmp_path / "index.html").read_text(encoding="utf-8"))
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 200_000
    again = demo_runs.tasks(tmp_path / "runs", seeds=1, epochs=2)
    assert len(again) == 3
    assert all(task.done for task in again)  # a second call has nothing left to train
    assert not any(task.done for task in demo_runs.tasks(tmp_path / "runs", seeds=1))


def check_tables(said: str) -> None:
    """Every method on both toys with numbers that can be what they are called, and a verdict on digits."""
    row = r"^ ?(Moons|Circles) +(\S.*?) +([\d.]+) ± ([\d.]+) points +(\d+)\s% +(\d+)\s% *$"
    rows = re.findall(row, said, flags=re.MULTILINE)
    assert [(toy, method) for toy, method, *_ in rows] == [
        (t, m) for t in ("Moons", "Circles") for m in METHODS
    ]
    for *_, off, _, sure, right in rows:
        assert 0 < float(off) < 50
        assert 50 <= int(sure) <= 100
        assert 0 <= int(right) <= 89  # the truth itself is right in 89 % at best
    verdicts = re.findall(r"^ ?(ERM|Mixup|SK Mixup) +\S.*% right, .*% confident\.", said, flags=re.MULTILINE)
    assert verdicts == ["ERM", "Mixup", "SK Mixup"]


def check_page(text: str) -> None:
    """Every picture is there with a text for those who cannot see it, and nothing comes from elsewhere."""
    labels = re.findall(r'role="img"[^>]*aria-label="([^"]*)"', text)
    starts = [
        start
        for toy in ("Moons", "Circles")
        for start in (
            f"True probability of the classes of {toy}",
            *(f"Probability that {method} learned on {toy}, " for method in METHODS),
        )
    ]
    assert all(label.startswith(start) for label, start in zip(labels, starts, strict=False))
    for start, number in (("Reliability diagram", 6), ("Validation ECE", 1), ("Heat map", 3)):
        assert sum(label.startswith(start) for label in labels) == number, start
    addresses = re.findall(r'\b(?:src|href|xlink:href)="([^"]+)"', text)
    assert addresses
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert "@import" not in text
    assert re.search(r"SK Mixup in [012] of 2 on Moons and [012] of 2 on Circles", text)


def test_the_truth_of_circles_is_that_of_bessel_functions(toys) -> None:
    """The density of a ring of radius r at distance R: exp(-(R - r)² / 2σ²) · e^-z I₀(z), z = R r / σ²."""
    circles = toys.TOYS[1]
    points = np.random.default_rng(0).uniform(-1.5, 1.5, (50, 2))
    distance = np.hypot(*points.T)
    first, second = (
        np.exp(-((distance - r) ** 2) / (2 * circles.noise**2)) * i0e(distance * r / circles.noise**2)
        for r in (1, 0.5)
    )
    assert circles.truth(points) == pytest.approx(second / (first + second), abs=1e-9)


def test_the_truth_is_what_comes_true(toys) -> None:
    """Of the points with a true probability around 0.3, about 3 in 10 are of the second class."""
    for toy in toys.TOYS:
        points, labels = toy.draw(8000, 0)
        truth = toy.truth(points)
        for low in (0.0, 0.2, 0.4, 0.6, 0.8):
            inside = (truth >= low) & (truth < low + 0.2)
            error = 4 * (0.25 / inside.sum()) ** 0.5
            assert labels[inside].mean() == pytest.approx(truth[inside].mean(), abs=error)


def test_the_distance_from_the_truth_by_hand(toys) -> None:
    """A network that always says 0.8 is off by |0.8 - truth|, and right as often as its class comes."""
    weights = {name: torch.zeros_like(weight)[None] for name, weight in toys.network(0).state_dict().items()}
    weights["4.bias"] += np.log(4)
    truth = np.array([0.0, 0.5, 1.0])
    found = toys.outcome("constant", weights, np.zeros((3, 2)), truth, (0, 1, 0, 1))
    assert found.off == pytest.approx([(0.8 + 0.3 + 0.2) / 3])
    assert found.sure == pytest.approx([0.8])
    assert found.right == pytest.approx([0.5])


@pytest.mark.parametrize("method", METHODS)
def test_stacked_toys_are_what_the_library_trains_one_by_one(method: str, toys) -> None:
    """30 steps of ``method.loss`` with plain modules, from the same seed, lead to the same weights."""
    circles = toys.TOYS[1]
    found = toys.train([(circles, "Mixup", 0), (circles, method, 3)], epochs=30)
    points, labels = circles.draw(toys.POINTS, 3)
    batch = toys.as_tensor(points), toys.as_tensor(labels)[:, None]
    model = toys.network(3)
    optimiser = torch.optim.Adam(model.parameters(), lr=toys.RATE)
    generator = torch.Generator().manual_seed(3)
    for _ in range(30):
        optimiser.zero_grad()
        toys.METHODS[method].loss(model, *batch, nn.BCEWithLogitsLoss(), generator=generator).backward()
        optimiser.step()
    for name, weight in model.state_dict().items():
        assert torch.allclose(found[name][1], weight, atol=1e-5), name
