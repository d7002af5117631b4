"""Which runs a table takes: patterns, seeds, folders, estimates."""

from pathlib import Path

import pytest

from small_table import write_table
from tailormix.experiments.experiment import fingerprint, read
from tailormix.paper.drawing import chosen_models
from tailormix.paper.planning import estimate, missing_data, plan_runs, select_cells
from tailormix.paper.tables import Table, read_table
from tailormix.training import run_folder


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return read_table(write_table(tmp_path))


@pytest.mark.parametrize(
    ("patterns", "cells"),
    [
        ([], ["plain/erm", "plain/mixup-half", "large/mixup-half"]),
        (["plain"], ["plain/erm", "plain/mixup-half"]),
        (["mixup*"], ["plain/mixup-half", "large/mixup-half"]),
        (["large/mixup-half", "erm"], ["plain/erm", "large/mixup-half"]),
    ],
)
def test_patterns_choose_rows_settings_or_both(patterns: list[str], cells: list[str], table: Table) -> None:
    assert ["/".join(cell) for cell in select_cells(table, patterns)] == cells


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("mixup-hal", "did you mean 'mixup-half'"),
        ("plan", "did you mean 'plain'"),
        ("others", "nothing to run"),
    ],
)
def test_a_pattern_without_a_match_is_an_error(pattern: str, said: str, table: Table) -> None:
    with pytest.raises(ValueError, match=said):
        select_cells(table, ["erm", pattern])


def test_seeds_folders_and_files(table: Table, tmp_path: Path) -> None:
    plan = plan_runs(table, tmp_path, rows=["erm"])
    assert [run.seed for run in plan.runs] == [0, 1, 2]
    run = plan_runs(table, tmp_path, rows=["erm"], seeds=[5]).runs[0]
    assert run.path == tmp_path / run.name / "seed-5"
    task = run.job()
    written = read(Path(task.arguments[0]))
    assert Path(task.arguments[0]).stem == run.name
    assert fingerprint(written) == fingerprint(run.experiment)  # so that train takes the same folder
    assert task.arguments[1:] == ("--seeds", "5", "--out", str(tmp_path))
    plan = plan_runs(table, tmp_path, budget="small")
    assert plan.left_out == ("large",)  # it has no small version
    assert {run.setting for run in plan.runs} == {"plain"}


def test_further_data_sets_are_asked_for_beside_the_file(tmp_path: Path) -> None:
    run = plan_runs(read_table("covariate-shift"), tmp_path, rows=["cifar10-c/erm"], seeds=[0]).runs[0]
    plain = plan_runs(read_table("resnet101-ece"), tmp_path, rows=["cifar10/erm"], seeds=[0]).runs[0]
    assert run.path == plain.path  # one training serves both tables
    assert run.job().arguments[1:3] == ("--set", 'also=["cifar10-c"]')
    assert read(run.job().arguments[0]).training.also == ()
    run.path.mkdir(parents=True)
    run_folder.write_json(run.path / run_folder.RESULT, {"test": {}})
    assert plain.result() is not None
    assert run.result() is None
    run_folder.write_json(run.path / run_folder.RESULT, {"test": {}, "shifts": {"cifar10-c": {}}})
    assert run.result() is not None


def test_estimates_use_the_file_and_then_what_was_measured(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAILORMIX_DATA", str(tmp_path / "none"))
    plan = plan_runs(table, tmp_path, seeds=[0, 1])
    found = {(cell["setting"], cell["row"]): cell for cell in estimate(plan)}
    assert found["plain", "erm"]["hours left"] == 1.0
    assert found["large", "mixup-half"]["device"] == "a100"
    assert missing_data(plan.runs) == {"cifar10": "tailormix data get cifar10"}
    first = plan.runs[0]
    first.path.mkdir(parents=True)
    run_folder.write_json(first.path / run_folder.RESULT, {"seconds_total": 36.0})
    cell = estimate(plan)[0]
    assert (cell["finished"], cell["hours"], cell["hours left"], cell["measured"]) == (1, 0.01, 0.01, True)


def test_a_figure_is_told_which_runs_to_look_at(tmp_path: Path) -> None:
    one = chosen_models(plan_runs(read_table("mismatch"), tmp_path, budget="small"))
    assert [model["title"] for model in one["models"]] == ["cifar10-cpu (small budget)"]
    asked = one["models"][0]["where"]
    assert (asked["model"], asked["method"], asked["epochs"]) == ({"name": "resnet8"}, {"name": "erm"}, 30)
    assert not {"seed", "summary", "also"} & set(asked)
    several = chosen_models(plan_runs(read_table("median-bars"), tmp_path))
    assert [bar["title"] for bar in several["bars"]] == ["ERM", "Mixup", "Lower 0.5", "Higher 0.5"]
    assert len(several["blocks"]) == 2
    assert "method" not in several["blocks"][0]["where"]
    assert chosen_models(plan_runs(read_table("theorems"), tmp_path)) == {}
