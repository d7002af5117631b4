"""Groups, labels and tables: seeds together, mean ± std, the best marked, costs against plain training."""

from pathlib import Path

import numpy as np
import pytest

from support_runs import change, make_run
from tailormix.methods import METHODS
from tailormix.reports.run_groups import MeanStd, method_title, problems_of
from tailormix.reports.run_tables import (
    costs,
    every_metric,
    mean_text,
    metric_table,
    summary_json,
    summary_table,
)
from tailormix.reports.runs import read_runs


def problems(folder: Path):
    return problems_of(read_runs([folder])[0])


def test_seeds_are_one_group_whatever_their_conduct(tmp_path: Path) -> None:
    for seed in range(3):
        make_run(tmp_path / f"s{seed}", seed=seed, workers=seed, summary=f"run {seed}")
    (problem,) = problems(tmp_path)
    (group,) = problem.groups
    assert (problem.title, group.label, group.seeds) == ("digits · mlp", "ERM", [0, 1, 2])
    values = [run.result["test"]["before"]["ece"] for run in group.runs]
    found = group.metric("before", "ece")
    assert found.mean == pytest.approx(np.mean(values))
    assert found.std == pytest.approx(np.std(values, ddof=1))
    assert group.metric("before", "no such metric").n == 0


def test_labels_tell_namesakes_apart(tmp_path: Path) -> None:
    """Plain training comes first; two settings of one method are named by them; so is another batch size."""
    make_run(tmp_path / "a", {"name": "sk-mixup", "tau_std": 0.25})
    make_run(tmp_path / "b", {"name": "sk-mixup", "tau_std": 0.5})
    make_run(tmp_path / "c", {"name": "mixup", "alpha": 0.2})
    make_run(tmp_path / "d", "erm")
    (problem,) = problems(tmp_path)
    labels = ["ERM", "Mixup", "SK Mixup (τ_std 0.25)", "SK Mixup (τ_std 0.5)"]
    assert [group.label for group in problem.groups] == labels
    assert problem.groups[1].small_print == "α 0.2 · 1 seed"
    make_run(tmp_path / "e", "erm", batch=32)
    (problem,) = problems(tmp_path)
    assert {group.label for group in problem.groups[:2]} == {"ERM (batch 32)", "ERM (batch 64)"}


def test_data_and_model_make_a_problem(tmp_path: Path) -> None:
    make_run(tmp_path / "a")
    make_run(tmp_path / "b", model={"name": "resnet8"})
    make_run(tmp_path / "c", data={"name": "digits", "test": 0.5})
    make_run(tmp_path / "d", task="regression")
    titles = [problem.title for problem in problems(tmp_path)]
    assert titles == ["digits · mlp", "digits · resnet8", "digits (test 0.5) · mlp", "airfoil · mlp"]


def test_the_best_mean_is_marked(tmp_path: Path) -> None:
    """ERM of ECE 10 % and accuracy 60 %, Mixup of 5 % and 60 %: both accuracies are the best."""
    for name, ece in (("erm", 0.1), ("mixup", 0.05)):
        path = make_run(tmp_path / name, name)
        change(path, test={"before": {"accuracy": 0.6, "ece": ece, "nll": 1.0}}, temperature=None)
    (problem,) = problems(tmp_path)
    table = metric_table(problem, ("accuracy", "ece"))
    assert table.headings == (("Accuracy %", ""), ("ECE %", ""))
    cells = [[(cell.text, cell.best) for cell in row] for _, row in table.rows]
    assert cells == [[("60.00", True), ("10.00", False)], [("60.00", True), ("5.00", True)]]


def test_summary_has_both_stages_and_the_temperature(tmp_path: Path) -> None:
    make_run(tmp_path / "a", seed=0)
    make_run(tmp_path / "b", seed=1)
    (problem,) = problems(tmp_path)
    table = summary_table(problem)
    assert [stage for title, stage in table.headings if title == "ECE %"] == ["before", "after T"]
    assert table.headings[-1] == ("T", "")
    assert all("±" in cell.text and not cell.best for _, row in table.rows for cell in row)
    assert {name for name, _, _ in every_metric(problem)} >= {"Brier", "MCE %", "Class-wise ECE %"}


def test_a_number_that_is_none_is_a_dash_and_null(tmp_path: Path) -> None:
    path = make_run(tmp_path / "a")
    change(path, test={"before": {"accuracy": 0.6, "ece": float("nan"), "nll": 1.0}}, temperature=None)
    (problem,) = problems(tmp_path)
    ((_, row),) = metric_table(problem, ("ece",)).rows
    assert (row[0].text, row[0].value) == ("—", None)
    assert mean_text(MeanStd.of([0.1, 0.2]), 100, 1) == "15.0 ± 7.1"
    (group,) = summary_json([problem], [])["problems"][0]["groups"]
    assert group["test"]["before"]["ece"] == {"mean": None, "std": None, "n": 1}


def test_cost_is_the_median_epoch_against_the_same_plain_training(tmp_path: Path) -> None:
    """Epochs of 9, 0.5 and 0.5 s have the median 0.5; 0.75 s are 1.5 times that; one has no peer."""
    make_run(tmp_path / "a", "erm", seconds=0.5)
    make_run(tmp_path / "b", "sk-mixup", seconds=0.75)
    make_run(tmp_path / "c", "mixup", batch=32)
    (problem,) = problems(tmp_path)
    found = {group.method["name"]: cost for group, cost in zip(problem.groups, costs(problem), strict=True)}
    assert found["erm"].seconds.mean == 0.5
    assert found["sk-mixup"].relative == pytest.approx(1.5)
    assert found["mixup"].relative is None
    assert found["sk-mixup"].passes == "n + n without gradient"


def test_every_method_has_a_title_of_its_own() -> None:
    titles = {method_title(name) for name in METHODS}
    assert len(titles) == len(METHODS)
    assert {"SK CutMix", "RankMixup MRL", "k-Mixup", "Manifold Mixup", "C-Mixup"} <= titles
