"""A study file becomes runs: candidates, seeds, ensembles and rows of one's own; wrong files are told."""

from pathlib import Path

import pytest

from helpers import ROOT
from tailormix.studies.raw import read_csv
from tailormix.studies.study import STUDIES, Row, Study, read_study

RESULTS = ROOT / "docs" / "results"

SMALL = """
title = "Small"
seeds = 2
budget = 2
[experiment]
epochs = 2
batch = 32
select = "last"
model = { name = "mlp", hidden = [8] }
optimiser = { name = "adamw", lr = 1e-2 }
[data.moons]
data = "moons"
[data.circles]
data = "circles"
[rows.erm]
title = "Plain"
set = { method = "erm" }
[rows.mixup]
set = { method = "mixup" }
search = { "method.alpha" = [0.1, 0.5, 1.0] }
[rows.pair]
ensemble = "mixup"
members = 2
[rows.trees]
reference = "hist-gradient-boosting"
search = { max_iter = [3, 5] }
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.mark.parametrize("name", STUDIES)
def test_shipped_studies_can_be_read_and_give_every_row_the_same_budget(name: str) -> None:
    """Rows with automatic strength have one thing less to search."""
    study = read_study(name)
    searched = [row for row in study.rows.values() if row.search and "auto" not in row.name]
    assert {len(row.candidates(study.budget)) for row in searched} <= {study.budget}
    assert study.baseline in study.rows
    assert all(study.cells(data) for data in study.data)


@pytest.mark.parametrize(("name", "networks"), [("images", 10), ("tables", 10), ("text", 11), ("tuned", 9)])
def test_all_networks_search_what_plain_training_searches(name: str, networks: int) -> None:
    """Given to plain training alone, the gain of a weight decay would look like one over mixing."""
    rows = [row for row in read_study(name).rows.values() if row.search and row.reference is None]
    assert len(rows) == networks
    assert all("optimiser.weight_decay" in row.search for row in rows)


def test_candidates_are_the_same_for_all_and_at_most_the_budget() -> None:
    row = Row("r", "R", search={"a": [1, 2, 3], "b": [4, 5]})
    assert len(row.candidates(4)) == 4
    assert row.candidates(4) == row.candidates(4)
    assert len(row.candidates(99)) == 6


def test_a_larger_budget_tries_what_a_smaller_one_tried_and_more() -> None:
    """So nothing that was trained is lost."""
    row = Row("r", "R", search={"a": list(range(6)), "b": list(range(5))})
    for budget in range(1, 31):
        smaller = row.candidates(budget)
        assert len(smaller) == budget
        assert all(point in row.candidates(budget + 1) for point in smaller)


def test_runs_differ_in_candidate_and_seed(small: Path) -> None:
    study = read_study(small)
    runs = study.runs("moons", study.rows["mixup"], Path("out"), [0, 1])
    assert len(runs) == len({run.path for run in runs}) == 4
    assert {run.experiment.method.options["alpha"] for run in runs} <= {0.1, 0.5, 1.0}
    assert {run.experiment.training.seed for run in runs} == {0, 1}


def test_members_share_the_split_and_settings_of_the_chosen_run(small: Path) -> None:
    study = read_study(small)
    chosen = study.runs("moons", study.rows["mixup"], Path("out"), [1])[0]
    first, second = study.members(study.rows["pair"], chosen)
    assert first is chosen
    assert second.experiment.data.options["split_seed"] == 1
    assert second.experiment.training.seed != 1
    assert second.experiment.method == chosen.experiment.method


def test_one_more_row_by_a_plug_in(small: Path) -> None:
    mine = small.with_name("my.py")
    mine.write_text("from tailormix import Mixup as Mine\n")
    study = read_study(small).with_method(f"{mine}:Mine")
    assert study.rows["my.Mine"].settings == {"method": f"{mine}:Mine"}
    tuned = read_study("tuned").with_method(f"{mine}:Mine").rows
    assert tuned["my.Mine"].search == tuned["erm"].search  # the same budget
    with pytest.raises(ValueError, match="Yours"):
        study.with_method(f"{mine}:Yours")


def test_patterns_choose_cells(small: Path) -> None:
    study = read_study(small)
    assert [(data, row.name) for data, row in study.cells("m*", "erm,mix*")] == [
        ("moons", "erm"),
        ("moons", "mixup"),
    ]
    with pytest.raises(ValueError, match="unknown row 'mixupp'; did you mean 'mixup'"):
        study.cells(rows="mixupp")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("budget = 2", "budgets = 2", "unknown key of the study 'budgets'; did you mean 'budget'"),
        ("budget = 2", "budget = 0", "budget must be >= 1, got 0"),
        ("seeds = 2", "search_seeds = 0", "search_seeds must be >= 1, got 0"),
        ("seeds = 2", "seeds = 2000", "seeds must be at most 1000, got 2000"),
        ('title = "Small"', "", "a study needs title"),
        ('ensemble = "mixup"', 'ensemble = "trees"', "needs a row of single networks, got 'trees'"),
        ('ensemble = "mixup"', 'ensemble = "mixed"', "unknown ensemble of row pair 'mixed'"),
        ("members = 2", 'compare = "mixed"', "unknown compare of row pair 'mixed'. Known: erm, mixup"),
        ("members = 2", 'compare = "pair"', "unknown compare of row pair 'pair'. Known: erm, mixup, trees"),
        ("members = 2", 'reference = "catboost"', "row pair must have ensemble or reference, got both"),
        ("members = 2", "members = 1", "members of row pair must be >= 2, got 1"),
        ("[0.1, 0.5, 1.0]", "0.1", "search of row mixup must give a list for method.alpha, got 0.1"),
        ('"method.alpha"', '"method.alhpa"', "unknown option of method mixup 'alhpa'; did you mean 'alpha'"),
        ('title = "Plain"', 'titel = "Plain"', "unknown key of row erm 'titel'; did you mean 'title'"),
        ('set = { method = "erm" }', 'set = "erm"', "set of row erm must be a section of keys, got 'erm'"),
        ('title = "Plain"', "title = 3", "title of row erm must be text, got 3"),
        ('"method.alpha" =', "seed =", "search of row mixup must not have seed"),
        ("members = 2", 'set = { method = "erm" }', "row pair is an ensemble of 'mixup', .*: no set"),
        ('title = "Small"', "title = 3", "title of the study must be text, got 3"),
        ("seeds = 2", 'together = "no"', "together must be true or false, got 'no'"),
        (
            '"hist-gradient-boosting"',
            '"hist-boosting"',
            "unknown reference of row trees 'hist-boosting'; did you mean 'hist-gradient-boosting'",
        ),
        ('data = "moons"', 'data = "moon"', "unknown data 'moon'; did you mean 'moons'"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_before_anything_is_trained(
    small: Path, old: str, new: str, message: str
) -> None:
    small.write_text(SMALL.replace(old, new))
    with pytest.raises((ValueError, TypeError), match=message):
        read_study(small)


def test_equal_candidates_are_one(small: Path) -> None:
    small.write_text(SMALL.replace("[0.1, 0.5, 1.0]", "[1.0, 1.0, 0.1]"))
    found = read_study(small).rows["mixup"].candidates(8)
    assert found == [{"method.alpha": 1.0}, {"method.alpha": 0.1}]


def test_a_split_seed_of_the_data_is_that_of_all_members(small: Path) -> None:
    small.write_text(SMALL.replace('data = "moons"', 'data = { name = "moons", split_seed = 7 }'))
    study = read_study(small)
    chosen = study.runs("moons", study.rows["mixup"], Path("out"), [1])[0]
    members = study.members(study.rows["pair"], chosen)
    assert [each.experiment.data.options["split_seed"] for each in members] == [7, 7]


@pytest.mark.parametrize("name", STUDIES)
def test_every_published_line_is_of_a_run_as_the_study_stands_now(name: str) -> None:
    study = read_study(name)
    lines = {(line["data"], line["row"], line["run"]): line for line in read_csv(RESULTS / f"{name}.csv")}
    assert lines
    assert [run for run, line in lines.items() if not study.is_current(line)] == []
    some = next(iter(lines.values()))
    assert not study.is_current({**some, "run": "another"})


def test_the_baseline_must_be_a_row() -> None:
    with pytest.raises(ValueError, match="unknown baseline 'erm'"):
        Study(
            "s",
            "S",
            {"model": "mlp"},
            {"moons": {"data": "moons"}},
            {"mixup": Row("mixup", "Mixup", {"method": "mixup"})},
        )
