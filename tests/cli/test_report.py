"""``tailormix report`` from outside: a page of real runs, JSON, exit codes, and what is left out."""

import json
import re
from pathlib import Path

import pytest

from cli.calling import call, told
from support_runs import make_run
from tailormix.experiments.experiment import read
from tailormix.experiments.running import run_experiment


def test_runs_of_the_trainer_are_reported(tmp_path: Path) -> None:
    settings = ["epochs=1", "batch=150", "accelerator=cpu", "method=mixup", "method.alpha=0.5"]
    result = run_experiment(read("moons", settings), tmp_path / "runs" / "mixup" / "seed-0")
    done = call("report", tmp_path / "runs", "-o", tmp_path / "r.html", "--json")
    assert done.exit_code == 0, done.output
    (problem,) = json.loads(done.stdout)["problems"]
    (group,) = problem["groups"]
    assert (problem["title"], group["label"], group["seeds"]) == ("Moons, MLP", "Mixup", [0])
    assert group["test"]["before"]["ece"] == {"mean": result["test"]["before"]["ece"], "std": None, "n": 1}
    assert group["temperature"]["mean"] == result["temperature"]["value"]
    assert "α 0.5" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_table_names_the_page_and_what_was_left_out(tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "a")
    unfinished = make_run(tmp_path / "runs" / "b", seed=1)
    (unfinished / "result.json").unlink()
    done = call("report", tmp_path / "runs", "--out", tmp_path / "r.html", "--title", "Mine")
    assert done.exit_code == 0, done.output
    assert "ERM" in done.stdout
    assert f"The page: {tmp_path / 'r.html'}" in done.stdout
    assert f"left out: {unfinished}: unfinished: 3 of 3 epochs" in done.stderr
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<h1>Mine</h1>" in page
    assert "1 folder left out" in page


@pytest.mark.parametrize(
    ("task", "metrics"),
    [
        ("classification", {"accuracy": 100, "ece": 100, "nll": 1}),
        ("regression", {"rmse": 1, "ence": 100, "coverage": 100}),
    ],
)
def test_everything_fits_into_80_columns(task: str, metrics: dict, tmp_path: Path, monkeypatch) -> None:
    """Two seeds and long labels: the numbers of the JSON are there, whole."""
    monkeypatch.setattr("tailormix.reports.runs.report_page.report_page", lambda *_, **__: "")
    for tau_std in (0.25, 0.5):
        for seed in range(2):
            method = {"name": "sk-mixup", "tau_max": 1.0, "tau_std": tau_std, "space": "embedding"}
            make_run(tmp_path / "runs" / f"{tau_std}-{seed}", method, seed, task=task)
    arguments = ["report", tmp_path / "runs", "-o", tmp_path / "r.html"]
    lines = call(*arguments, COLUMNS="80").stdout.splitlines()
    assert max(map(len, lines[:-1])) <= 80
    rows = [re.findall(r"(\S+) ± (\S+)", line) for line in lines]
    before, *_ = (row for row in rows if len(row) == 3)
    group = json.loads(call(*arguments, "--json").stdout)["problems"][0]["groups"][0]["test"]["before"]
    for (mean, std), (name, factor) in zip(before, metrics.items(), strict=True):
        assert float(mean) == pytest.approx(factor * group[name]["mean"], abs=0.06)
        assert float(std) == pytest.approx(factor * group[name]["std"], abs=0.06)
    assert any(line.strip().startswith("after ") for line in lines)


def test_nothing_to_report_is_wrong_use(tmp_path: Path) -> None:
    unfinished = make_run(tmp_path / "runs" / "b")
    (unfinished / "result.json").unlink()
    done = call("report", tmp_path / "runs", "-o", tmp_path / "r.html")
    assert done.exit_code == 2
    said = told(done)
    assert "no finished run among them" in said
    assert "unfinished: 3 of 3 epochs" in said
    assert not (tmp_path / "r.html").exists()


def test_a_failing_page_keeps_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path / "runs" / "a")
    (tmp_path / "r.html").write_text("old")

    def fail(*_: object, **__: object) -> str:
        raise ValueError("no ink")

    monkeypatch.setattr("tailormix.reports.runs.report_page.report_page", fail)
    done = call("report", tmp_path / "runs", "-o", tmp_path / "r.html")
    assert done.exit_code == 1
    assert "error: no ink" in done.stderr
    assert (tmp_path / "r.html").read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "r.html"}
