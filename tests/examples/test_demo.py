"""The demo runs from a fresh process and goes on from where it was; its toys use the library's methods."""

import re
from pathlib import Path

import pytest
import torch
from torch import nn

from helpers import ROOT, run_program

EXAMPLES = ROOT / "examples"
DEMO = EXAMPLES / "demo.py"
TOYS = ("ERM", "Mixup", "SK Mixup", "SK Mixup, unsquared")


@pytest.mark.timeout(600)  # a process of its own that trains and draws
def test_demo_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = tmp_path / "images" / "demo.png"
    options = ["--out", str(tmp_path), "--seeds", "1", "--epochs", "20", "--run-epochs", "2", "--jobs", "1"]
    said = run_program(str(DEMO), *options, "--png", str(picture))
    check_tables(said)
    assert said.rstrip().endswith("in a browser.")
    assert str(tmp_path) in said.replace("\n", "")
    check_page((tmp_path / "index.html").read_text(encoding="utf-8"))
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 200_000
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import demo_runs

    again = demo_runs.tasks(tmp_path / "runs", seeds=1, epochs=2)
    assert len(again) == 6
    assert all(task.done for task in again)  # a second call has nothing left to train
    assert not any(task.done for task in demo_runs.tasks(tmp_path / "runs", seeds=1))


def check_tables(said: str) -> None:
    """Every method on both problems, with numbers that can be what they are called."""
    rows = re.findall(r"^ ?(ERM|Mixup|SK Mixup) +([\d.].*)$", said, flags=re.MULTILINE)
    assert [name for name, _ in rows] == ["ERM", "Mixup", "SK Mixup"] * 2
    for _, numbers in rows:
        accuracy, before, after, *nlls = (float(number.split("±")[0]) for number in numbers.split())
        assert 0 <= accuracy <= 100
        assert 0 <= before <= 100
        assert 0 <= after <= 100
        assert all(0 < nll < 5 for nll in nlls)
        assert len(nlls) == 2


def check_page(text: str) -> None:
    """Every picture is there with a text for those who cannot see it, and nothing comes from elsewhere."""
    labels = re.findall(r'role="img"[^>]*aria-label="([^"]*)"', text)
    toys = [f"Decision frontier and confidence of {m} on {d}" for d in ("Moons", "Circles") for m in TOYS]
    assert labels[: len(toys)] == toys
    for start, number in (("Reliability diagram", 12), ("Validation ECE", 2), ("Heat map", 5)):
        assert sum(label.startswith(start) for label in labels) == number, start
    addresses = re.findall(r'\b(?:src|href|xlink:href)="([^"]+)"', text)
    assert addresses
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert "@import" not in text


@pytest.mark.parametrize("method", TOYS)
def test_stacked_toys_are_what_the_library_trains_one_by_one(method: str, monkeypatch) -> None:
    """30 steps of ``method.loss`` with plain modules, from the same seed, lead to the same weights."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import demo_toys

    (x, y), _ = demo_toys.split("Circles")
    batch = demo_toys.as_tensor(x), demo_toys.as_tensor(y)[:, None]
    others = [demo_toys.METHODS["Mixup"](), demo_toys.METHODS[method]()]
    found = demo_toys.train(others, [batch, batch], epochs=30)
    with torch.random.fork_rng():
        torch.manual_seed(demo_toys.SEED)
        model = nn.Sequential(nn.Linear(2, 20), nn.ReLU(), nn.Linear(20, 1))
        optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
        for _ in range(30):
            optimiser.zero_grad()
            demo_toys.METHODS[method]().loss(model, *batch, nn.BCEWithLogitsLoss()).backward()
            optimiser.step()
    for name, weight in model.state_dict().items():
        assert torch.allclose(found[name][1], weight, atol=1e-5), name
