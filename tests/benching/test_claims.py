"""The paper's columns and claims."""

from importlib import resources
from typing import Any

import pytest

from tailormix.benching import published
from tailormix.benching.claims import CLAIMS, agrees, checked
from tailormix.benching.published import columns, ratio

#: rows of the paper's table: batches in memory, seconds an epoch on CIFAR-10 and Tiny-ImageNet
ROWS = {"mixup": (1, 17, 125), "sk-mixup": (1, 28, 189), "rankmixup": (4, 78, 540)}


def table(rows: dict[str, tuple[int, float, float]]) -> dict[str, Any]:
    cells = ("cifar10", "tiny-imagenet")
    return {
        "rows": [
            {
                "name": name,
                "values": {
                    data: {"batches_in_memory": float(batches), "seconds_per_epoch": float(time)}
                    for data, time in zip(cells, times, strict=True)
                },
            }
            for name, (batches, *times) in rows.items()
        ]
    }


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "_table", lambda _: table(ROWS))


@pytest.mark.usefixtures("few")
def test_times_are_ratios_within_a_data_set() -> None:
    """By hand: 28 / 17 = 1.647, 189 / 125 = 1.512; 78 / 28 = 2.786, 540 / 189 = 2.857, mean 2.821."""
    found = columns("classification")["sk-mixup"]
    assert found["batches"] == 1
    assert found["time"] == pytest.approx({"cifar10": 1.6471, "tiny-imagenet": 1.512}, abs=1e-4)
    assert ratio("classification", "rankmixup", "sk-mixup") == pytest.approx(2.8214, abs=1e-4)
    assert ratio("classification", "mit-a", "sk-mixup") is None


def test_columns_come_from_the_papers_files_where_they_ship() -> None:
    folder = resources.files("tailormix").joinpath("paper", "data")
    ships = folder.joinpath("efficiency-classification.toml").is_file()
    assert bool(columns("classification")) == ships
    assert columns("classification").get("mit-a", {}).get("batches") == (2 if ships else None)
    expected = pytest.approx(46.51 / 11.16) if ships else None
    assert ratio("regression", "c-mixup", "sk-mixup") == expected


def row(method: str, seconds: float, size: int) -> dict[str, Any]:
    return {"method": method, "seconds": seconds, "bytes": size}


@pytest.mark.usefixtures("few")
def test_claims_are_checked_where_both_methods_were_measured() -> None:
    images = [row("mixup", 1.0, 10), row("sk-mixup", 1.4, 10), row("rankmixup", 2.8, 40)]
    found = {each["claim"]: each for each in checked({"classification": images, "regression": []})}
    assert list(found) == [
        "SK Mixup is about 3× faster than RankMixup",
        "SK Mixup holds a single batch, like Mixup",
        "RankMixup holds four times the data",
    ]
    slow = found["SK Mixup is about 3× faster than RankMixup"]
    assert (slow["claimed"], slow["measured"], slow["agrees"]) == (3.0, pytest.approx(2.0), False)
    assert slow["in the table"] == pytest.approx(2.8214, abs=1e-4)
    assert found["RankMixup holds four times the data"]["agrees"]


def test_a_miss_is_explained_and_a_hit_is_not() -> None:
    for seconds, note in ((1.2, True), (4.1, False)):
        rows = [row("sk-mixup", 1.0, 1), row("c-mixup", seconds, 1)]
        (claim,) = checked({"regression": rows})
        assert bool(claim["note"]) is note


def test_about_has_two_sides() -> None:
    twice = next(claim for claim in CLAIMS if claim.kind == "about")
    assert [agrees(twice, measured) for measured in (1.5, 1.7, 2.4, 2.6)] == [False, True, True, False]
