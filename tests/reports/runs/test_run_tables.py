"""Groups, labels and tables: seeds together, mean ± std, the best marked, costs against plain training."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from support_runs import change, make_run
from tailormix.calibration.predictions import load_predictions
from tailormix.methods import METHODS
from tailormix.reports.classes import ClassResults
from tailormix.reports.runs.groups import Problem, headline, problems_of, run_description
from tailormix.reports.runs.names import method_title
from tailormix.reports.runs.reading import read_runs
from tailormix.reports.runs.run_tables import (
    class_tables,
    costs,
    every_metric,
    metric_table,
    shift_tables,
    summary_json,
    summary_table,
)


def problems(folder: Path):
    return problems_of(read_runs([folder])[0])


def test_seeds_are_one_group_whatever_their_conduct(tmp_path: Path) -> None:
    for seed in range(3):
        make_run(tmp_path / f"s{seed}", seed=seed, workers=seed, summary=f"run {seed}")
    (problem,) = problems(tmp_path)
    (group,) = problem.groups
    assert (problem.title, group.label, group.seeds) == ("Digits, MLP", "ERM", [0, 1, 2])
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
    assert titles == ["Digits, MLP", "Digits, ResNet-8", "Digits (test 0.5), MLP", "Airfoil, MLP"]


@pytest.mark.parametrize(
    ("methods", "models", "title"),
    [
        (["erm", "sk-mixup"], ["resnet8"], "Digits, ResNet-8: SK Mixup against plain training"),
        (["mixup", "sk-mixup", "cutmix"], ["mlp"], "Digits, MLP: Mixup, CutMix and SK Mixup"),
        (["sk-mixup"], ["mlp"], "Digits, MLP: SK Mixup"),
        (["erm"], ["mlp", "resnet8"], "Digits, MLP and ResNet-8: plain training"),
        (["erm", "mixup"], ["mlp", "resnet8", "resnet18", "resnet20"], "8 experiments on 4 problems"),
    ],
)
def test_a_page_is_titled_by_what_it_compares(
    methods: list, models: list, title: str, tmp_path: Path
) -> None:
    for model in models:
        for method in methods:
            make_run(tmp_path / model / method, method, model={"name": model})
    assert headline(problems(tmp_path)) == title


def test_a_file_belongs_to_its_run(tmp_path: Path) -> None:
    path = make_run(tmp_path / "a", "sk-mixup", seed=3, class_names="abcdefg")
    expected = ("Digits, MLP: SK Mixup, seed 3", tuple("abcdefg"))
    assert run_description(path) == run_description(path / "predictions.npz") == expected
    (path / "experiment.json").write_text('{"experiment": []}')
    assert run_description(path) == ("", ())


def test_the_best_mean_is_marked(tmp_path: Path) -> None:
    """ERM of ECE 10 % and accuracy 60 %, Mixup of 5 % and 60 %: both accuracies are the best."""
    for name, ece in (("erm", 0.1), ("mixup", 0.05)):
        path = make_run(tmp_path / name, name)
        change(path, test={"before": {"accuracy": 0.6, "ece": ece, "nll": 1.0}}, temperature=None)
    (problem,) = problems(tmp_path)
    table = metric_table(problem, ("accuracy", "ece"))
    assert table.headings == (("Accuracy %", ""), ("ECE %", ""))
    cells = [[(cell.text, cell.best) for cell in row] for _, row in table.rows]
    assert cells == [[("60.0", True), ("10.0", False)], [("60.0", True), ("5.0", True)]]


def test_recall_of_each_class_over_the_seeds(tmp_path: Path) -> None:
    """As scikit-learn finds it in the predictions; beyond 20 classes, those that are found least."""
    from sklearn.metrics import recall_score

    paths = [make_run(tmp_path / str(seed), seed=seed, class_names="abcdefg") for seed in range(2)]
    (problem,) = problems(tmp_path)
    (table,) = class_tables(problem)
    found = [load_predictions(path) for path in paths]
    expected = np.mean([recall_score(p.targets, p.logits.argmax(1), average=None) for p in found], axis=0)
    assert [name for name, _, _ in table.rows] == list("abcdefg")
    assert [cells[0].value for _, _, cells in table.rows] == pytest.approx(expected.tolist())
    (shown,) = class_tables(replace_classes(problem, 30))
    assert len(shown.rows) == 20
    assert shown.rows[0][0] == "10"


def test_shifted_parts_and_kinds_of_corruption_have_rows(tmp_path: Path) -> None:
    """Two seeds; the ECE of jpeg is the mean of 0.1 and 0.3, then of 0.2 and 0.4: 25 ± 7.1 %."""
    for seed, more in ((0, 0.0), (1, 0.1)):
        metrics = {"accuracy": 0.5 + more, "ece": 0.2 + more}
        parts = {f"jpeg-{s}": {"before": {"ece": e + more}} for s, e in ((1, 0.1), (5, 0.3))}
        shifts = {
            "corrupted": {"before": metrics, "after temperature": metrics, "conditions": 2, "parts": parts},
            "unknown": {"before": {"auroc": 0.9 + more / 2}},
        }
        change(make_run(tmp_path / str(seed), seed=seed), shifts=shifts)
    (problem,) = problems(tmp_path)
    (table,) = shift_tables(problem, kinds=False)
    rows = [(title, stage, *(cell.text for cell in cells)) for title, stage, cells in table.rows]
    assert rows == [
        ("Corrupted images: Accuracy %", "before", "55.0 ± 7.1"),
        ("Corrupted images: ECE %", "before", "25.0 ± 7.1"),
        ("Corrupted images: ECE %", "after temperature", "25.0 ± 7.1"),
        ("Unknown inputs: AUROC %", "before", "92.5 ± 3.5"),
    ]
    (table,) = shift_tables(problem, kinds=True)
    assert [(*row[:2], row[2][0].text) for row in table.rows] == [("jpeg: ECE %", "before", "25.0 ± 7.1")]
    (group,) = summary_json([problem], [])["problems"][0]["groups"]
    assert group["shifts"]["jpeg"]["before"]["ece"]["mean"] == pytest.approx(0.25)


def test_without_shifted_parts_there_is_no_table(tmp_path: Path) -> None:
    make_run(tmp_path / "a")
    (problem,) = problems(tmp_path)
    assert shift_tables(problem, kinds=False) == shift_tables(problem, kinds=True) == []


def replace_classes(problem: Problem, number: int) -> Problem:
    """The same runs with so many classes of 100 samples, of which the k-th is found k times."""
    counts = torch.diag(torch.arange(number))
    counts[:, 0] += 100 - torch.arange(number)
    counts[:10, 0] = 0
    counts[range(10), range(10)] = 100
    found = ClassResults(tuple(map(str, range(number))), counts, counts.sum(0).double())
    group = problem.groups[0]
    runs = tuple(dataclasses.replace(run, classes=(found,)) for run in group.runs)
    return dataclasses.replace(problem, groups=(dataclasses.replace(group, runs=runs),))


def test_many_groups_are_several_tables(tmp_path: Path) -> None:
    for alpha in range(3, 11):  # as text, 10 would come first
        make_run(tmp_path / str(alpha), {"name": "mixup", "alpha": float(alpha)})
    (problem,) = problems(tmp_path)
    tables = every_metric(problem)
    assert headline([problem]) == "Digits, MLP: Mixup in 8 settings"
    assert [group.method["alpha"] for group in problem.groups] == [float(alpha) for alpha in range(3, 11)]
    assert [len(table.labels) for table in tables] == [6, 2]
    assert [len(cells) for _, _, cells in tables[1].rows] == [2] * len(tables[0].rows)


def test_a_regression_has_its_stages_and_its_scaling(tmp_path: Path) -> None:
    make_run(tmp_path / "a", task="regression")
    (problem,) = problems(tmp_path)
    table = summary_table(problem)
    assert [small for title, small in table.headings if title == "ENCE %"] == ["before", "after scaling"]
    assert [small for title, small in table.headings if title == "RMSE"] == [""]
    assert table.headings[-1] == ("scaling", "")
    (group,) = summary_json([problem], [])["problems"][0]["groups"]
    assert group["variance"]["mean"] == next(problem.runs).fitted["value"]


def test_summary_has_both_stages_and_the_temperature(tmp_path: Path) -> None:
    make_run(tmp_path / "a", seed=0)
    make_run(tmp_path / "b", seed=1)
    (problem,) = problems(tmp_path)
    table = summary_table(problem)
    assert [stage for title, stage in table.headings if title == "ECE %"] == ["before", "after T"]
    assert table.headings[-1] == ("T", "")
    assert all("±" in cell.text and not cell.best for _, row in table.rows for cell in row)
    (every,) = every_metric(problem)
    assert {name for name, _, _ in every.rows} >= {"Brier", "MCE %", "Class-wise ECE %"}


def test_a_number_that_is_none_is_a_dash_and_null(tmp_path: Path) -> None:
    path = make_run(tmp_path / "a")
    change(path, test={"before": {"accuracy": 0.6, "ece": float("nan"), "nll": 1.0}}, temperature=None)
    (problem,) = problems(tmp_path)
    ((_, row),) = metric_table(problem, ("ece",)).rows
    assert (row[0].text, row[0].value) == ("—", None)
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
