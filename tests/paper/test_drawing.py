"""Runs found by their settings."""

import json
from pathlib import Path

import pytest

from tailormix.experiments import read
from tailormix.paper.drawing import find_seeds, matches

MIXUP = {"name": "mixup"}


def put(root: Path, name: str, seed: int, *, finished: bool = True, **settings: object) -> Path:
    path = root / name / f"seed-{seed}"
    path.mkdir(parents=True)
    experiment = {"data": {"name": "moons", "n": 200}, "method": MIXUP, "epochs": 3, "seed": seed, **settings}
    (path / "experiment.json").write_text(json.dumps({"experiment": experiment}))
    if finished:
        (path / "result.json").write_text(json.dumps({"seed": seed}))
    return path


def test_finished_seeds_in_order(tmp_path: Path) -> None:
    for seed in (10, 2, 0):
        put(tmp_path, "a", seed, workers=seed)
    put(tmp_path, "a", 1, finished=False)
    put(tmp_path, "b", 0, method={"name": "mixup", "alpha": 0.2})
    found = find_seeds(tmp_path, {"method": MIXUP})
    assert [run.result["seed"] for run in found] == [0, 2, 10]
    assert found[0].path == tmp_path / "a" / "seed-0"


@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        ({"method": {"name": "mixup", "alpha": 1.0}}, True),  # the default need not be named
        ({"method": {"name": "mixup", "alpha": 0.5}}, False),
        ({"data": {"name": "moons"}}, True),
        ({"epochs": 3}, True),
        ({"data": {"name": "moons", "noise": 0.1}}, False),
        ({"model": {"name": "mlp"}}, False),
    ],
)
def test_sections_are_compared_where_they_are_named(asked: dict[str, object], fits: bool) -> None:
    trained = {"data": {"name": "moons", "n": 200}, "epochs": 3, "method": MIXUP}
    assert matches(trained, asked) == fits


def test_a_whole_experiment_finds_its_runs(tmp_path: Path) -> None:
    """Its seed and conduct do not count, tuples are lists in JSON, and what a record lacks is the default."""
    experiment = read("digits-mlp", ["method=mixup", "model.hidden=[8, 8]"], seed=3).to_dict()
    lacking = ("seed", "channels_last", "optimiser")
    record = {key: value for key, value in experiment.items() if key not in lacking}
    put(tmp_path, "a", 0, **(record | {"workers": 2}))
    experiment["optimiser"] = {"name": "sgd"}
    assert len(find_seeds(tmp_path, experiment)) == 1
    with pytest.raises(FileNotFoundError, match="channels_last"):
        find_seeds(tmp_path, experiment | {"channels_last": True})


def test_two_experiments_that_fit_are_refused(tmp_path: Path) -> None:
    put(tmp_path, "a", 0)
    put(tmp_path, "b", 0, epochs=5)
    with pytest.raises(ValueError, match=r"2 experiments .* differ in epochs: say which is meant"):
        find_seeds(tmp_path, {"method": MIXUP})
    assert len(find_seeds(tmp_path, {"epochs": 5})) == 1


def test_defaults_that_are_written_out_make_no_other_experiment(tmp_path: Path) -> None:
    put(tmp_path, "a", 0, method={"name": "mixup"})
    put(tmp_path, "b", 0, method={"name": "mixup", "alpha": 1.0}, imitate="", clip=0.0)
    put(tmp_path, "b", 1, method={"name": "mixup", "alpha": 1.0}, imitate="", clip=0.0)
    found = find_seeds(tmp_path, {"method": {"name": "mixup"}})
    assert [run.path for run in found] == [tmp_path / "b" / "seed-0", tmp_path / "b" / "seed-1"]


def test_nothing_fits(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no finished run with"):
        find_seeds(tmp_path, {"method": MIXUP})
    put(tmp_path, "a", 0)
    with pytest.raises(ValueError, match="unknown method 'mixupp'; did you mean 'mixup'"):
        find_seeds(tmp_path, {"method": {"name": "mixupp"}})
