"""``tailormix reproduce`` from outside: a small table is run, resumed, shown, written and put on a page."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.calling import call, told
from helpers import ROOT
from small_table import TABLE, write_table
from tailormix.cli.results import pages
from tailormix.experiments import parallel, read
from tailormix.experiments.running import run_experiment
from tailormix.paper.planning import plan_runs
from tailormix.paper.tables import read_table
from tailormix.training.run_folder import RunError


def in_process(task: parallel.Job, *_: object) -> parallel.JobResult:
    """A run without a process of its own, whose start takes longer than the run."""
    file, seed = task.arguments[0], int(task.arguments[task.arguments.index("--seeds") + 1])
    try:
        run_experiment(read(file, seed=seed), task.path)
    except RunError as error:
        return parallel.JobResult(task, 1, str(error))
    return parallel.JobResult(task, 0)


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "run_job", in_process)
        yield


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Two rows and two seeds of the made table; the folder of seed 1 of ERM is blocked, so that it fails."""
    folder = tmp_path_factory.mktemp("ran")
    table = write_table(folder)
    blocked = plan_runs(read_table(table), folder / "runs", rows=["plain/erm"], seeds=[1]).runs[0].path
    blocked.mkdir(parents=True)
    (blocked / "checkpoints").write_text("")
    options = ["--rows", "plain", "--seeds", "0-1"]
    places = ["--out", folder / "runs", "--results", folder / "results"]
    done = call("reproduce", table, *options, *places)
    (blocked / "checkpoints").unlink()
    return folder, done


def test_a_failed_run_stops_no_other_and_is_listed(ran: tuple[Path, Any]) -> None:
    folder, done = ran
    assert done.exit_code == 1
    assert "made: 4 runs to go, 0 finished before" in done.stderr
    assert "3/4 done" in done.stderr or "4/4 done" in done.stderr
    assert "again: tailormix train" in done.stderr
    assert f"--seeds 1 --out {folder / 'runs'}" in done.stderr
    assert "Plain: Accuracy, higher is better" in done.stdout
    assert "80.0 ± 2.0" in done.stdout  # the paper's
    assert "Others †" in done.stdout


def test_a_second_call_runs_only_what_is_missing_and_a_third_nothing(
    ran: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = ran
    arguments = ["reproduce", folder / "made.toml", "--rows", "plain", "--out", folder / "runs"]
    second = call(*arguments, "--seeds", "0-1", "--results", folder / "results")
    assert second.exit_code == 0, second.stderr
    assert "1 runs to go, 3 finished before" in second.stderr
    monkeypatch.setattr(parallel, "run_jobs", None)
    assert call(*arguments, "--seeds", "0-9", "--finished").stdout == second.stdout
    third = call(*arguments, "--seeds", "0-1")
    assert (third.exit_code, third.stdout, third.stderr) == (0, second.stdout, "")
    again = json.loads(call(*arguments, "--seeds", "0-1", "--json").stdout)
    kept = json.loads((folder / "results" / "made.json").read_text())
    assert again == kept
    erm = kept["settings"][0]["rows"][0]
    assert erm["seeds"] == [0, 1]
    assert erm["cells"]["accuracy"]["ours"]["n"] == 2
    result = json.loads((folder / "runs" / erm["run"] / "seed-1" / "result.json").read_text())
    expected = 100 * result["test"]["before"]["accuracy"]
    assert erm["cells"]["accuracy"]["ours"]["values"]["1"] == pytest.approx(expected)
    assert kept["versions"]["tailormix"]


def test_rows_that_differ_in_numbers_are_trained_together(ran: tuple[Path, Any], tmp_path: Path) -> None:
    """Two strengths of Mixup form one group; a folder of ERM is blocked, which keeps its own group apart."""
    other = TABLE.replace('name = "others"', 'name = "mixup-one"').replace(
        "reported = true", 'method = { name = "mixup", alpha = 1.0 }'
    )
    table, runs = write_table(tmp_path, other), tmp_path / "runs"
    planned = plan_runs(read_table(table), runs, rows=["plain"], seeds=[0, 1]).runs
    blocked = next(run.path for run in planned if (run.row, run.seed) == ("erm", 1))
    blocked.mkdir(parents=True)
    (blocked / "checkpoints").write_text("")
    done = call("reproduce", table, "--rows", "plain", "--seeds", "0-1", "--together", "--out", runs)
    assert done.exit_code == 1
    assert "2 runs like" in done.stderr
    assert "are trained one by one: cannot write into" in done.stderr
    assert "1/2 done" in done.stderr or "2/2 done" in done.stderr
    for run in planned:
        if run.row == "erm":
            continue
        result = json.loads((run.path / "result.json").read_text())
        assert result["execution"]["together"] == 4
        if run.row == "mixup-half":
            alone = ran[0] / "runs" / run.name / f"seed-{run.seed}" / "result.json"
            single = json.loads(alone.read_text())
            assert result["test"]["before"]["nll"] == pytest.approx(single["test"]["before"]["nll"], rel=1e-3)


def test_the_page_is_made_of_the_files_alone(ran: tuple[Path, Any], tmp_path: Path) -> None:
    folder, _ = ran
    shutil.copytree(folder / "results", tmp_path / "results")
    output = tmp_path / "results" / "paper.md"
    arguments = ["results", "--folder", tmp_path / "results"]
    assert call(*arguments, "--check").exit_code == 1
    assert call(*arguments).exit_code == 0
    assert call(*arguments).stdout == ""  # nothing to write: the same bytes
    assert call(*arguments, "--check").exit_code == 0
    assert "## Made" in output.read_text()
    assert "| row | Accuracy" in output.read_text()


@pytest.mark.parametrize("inside", [None, "notes.txt"])
def test_a_folder_without_results_is_an_error_and_no_page_is_written(
    inside: str | None, tmp_path: Path
) -> None:
    folder = tmp_path / "results"
    if inside:
        folder.mkdir()
        (folder / inside).write_text("")
    done = call("results", "--folder", folder)
    assert done.exit_code == 2
    assert ("has no results files" if inside else "is not a folder") in told(done)
    assert "tailormix reproduce NAME --results" in told(done)
    assert not (folder / "paper.md").exists()


def test_what_is_committed_is_what_the_results_give() -> None:
    for path, text in pages(ROOT / "docs" / "results").items():
        assert path.read_text(encoding="utf-8") == text, path


def test_the_readme_quotes_the_page() -> None:
    page = (ROOT / "docs" / "results" / "tuned.md").read_text("utf-8")
    quoted = re.findall(r"^\| (.+?) \| (.+ ± .+) \|$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert len(quoted) > 8
    for row, numbers in quoted:
        cells = numbers.split(" | ")
        for data, each in (("fashion-mnist", cells[:3]), ("cifar10", cells[3:])):
            here = page.split(f"\n## {data}\n")[1].split("\n## ")[0].splitlines()
            made = next((line for line in here if line.startswith(f"| {row} |")), "| — |")
            assert [number for number in each if f"| {number} |" not in made] == [], (row, data)


INTERVAL = r"[+−][\d.]+ \[[+−][\d.]+, [+−][\d.]+\]"


@pytest.mark.parametrize("name", ["README.md", "docs/methods.md"])
def test_every_interval_that_is_quoted_stands_on_a_page_of_results(name: str) -> None:
    made = "".join(path.read_text("utf-8") for path in pages(ROOT / "docs" / "results"))
    text = " ".join((ROOT / name).read_text("utf-8").split())
    quoted = re.findall(INTERVAL, text)
    assert quoted
    assert [each for each in quoted if each not in made] == []


def test_every_interval_of_the_results_stands_in_a_row_it_names_on_a_page_it_links() -> None:
    docs = ROOT / "docs"
    parts = re.split(r"\n(?=\d\. |- |\n)", (docs / "results.md").read_text("utf-8"))
    quoted = 0
    for part in (part.strip() for part in parts):
        linked = set(re.findall(r"\]\((results/\w+\.md)", part))
        made = [line for page in linked for line in (docs / page).read_text("utf-8").splitlines()]
        for item in part.splitlines()[2:] if part.startswith("|") else [" ".join(part.split())]:
            for quote in re.findall(INTERVAL, item):
                rows = [
                    line.split("|")[1].strip() for line in made if line.startswith("| ") and quote in line
                ]
                assert any(names(item, row) for row in rows), (quote, rows)
                quoted += 1
    assert quoted > 200


def names(item: str, row: str) -> bool:
    """Whether a sentence speaks of a row of a study, or a row of a table is that row."""
    if item.startswith("|"):
        return item.split("|")[1].strip() == row
    name = "ensemble of 4" if "ensemble of 4" in row else re.split(r",| \(", row)[0]
    return name.lower() in item.lower()


def test_a_dry_run_starts_nothing_and_names_what_is_missing(tmp_path: Path) -> None:
    arguments = ["reproduce", "resnet34", "--dry-run", "--out", tmp_path / "runs"]
    done = call(*arguments, TAILORMIX_DATA=str(tmp_path))
    assert done.exit_code == 0
    assert "runs on one A100" in done.stdout
    assert "data set cifar10 is not here: tailormix data get cifar10" in done.stdout
    assert list(tmp_path.iterdir()) == []
    losses = call("reproduce", "resnet101-ece", "--rows", "cifar10/mbls,cifar10/erm", "--dry-run")
    assert "erm, loss mbls(alpha=0.1, margin=6.0)" in losses.stdout
    assert losses.stdout.count("loss") == 1  # ERM has the default
    small = call("reproduce", write_table(tmp_path), "--budget", "small", "--dry-run", "--json")
    forecast = json.loads(small.stdout)
    assert forecast["left out"] == ["large"]
    assert {cell["device"] for cell in forecast["cells"]} == {"cpu"}


def test_a_figure_is_drawn_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made_figure.py").write_text(
        "from types import SimpleNamespace\n"
        "def make(settings, runs, out):\n"
        "    path = out / 'made.svg'\n"
        "    path.write_text('<svg/>')\n"
        "    return SimpleNamespace(files=(path,), facts={'caption': 'See.', 'points': settings['points']})\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    head = TABLE[: TABLE.index("[columns")].replace('kind = "table"', 'kind = "figure"')
    table = write_table(tmp_path, f'{head}figure = "made_figure:make"\n[options]\npoints = 7\n')
    places = ["--out", tmp_path / "runs", "--results", tmp_path / "results"]
    done = call("reproduce", table, *places)
    assert done.exit_code == 0, done.stderr
    assert "points: 7" in done.stdout
    record = json.loads((tmp_path / "results" / "made.json").read_text())
    assert (record["files"], record["facts"]["points"]) == (["made.svg"], 7)
    assert call("results", "--folder", tmp_path / "results").exit_code == 0
    assert "](./made.svg)" in (tmp_path / "results" / "paper.md").read_text()


def test_runs_without_their_data_are_left_out(tmp_path: Path) -> None:
    arguments = ["reproduce", "airfoil-warping", "--seeds", "0", "--out", tmp_path / "runs"]
    done = call(*arguments, TAILORMIX_DATA=str(tmp_path / "data"))
    assert done.exit_code == 1
    assert "data set airfoil is not here, 3 runs are left out: tailormix data get airfoil" in done.stderr
    assert "no finished runs" in done.stdout
    assert not (tmp_path / "runs").exists()
