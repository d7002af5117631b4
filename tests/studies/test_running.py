"""A small study from its file to CSV, tables and pictures."""

import csv
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from scipy.special import softmax

from cli.calling import call
from studies.test_study import RESULTS, SMALL
from tailormix.calibration.predictions import Predictions, load_predictions
from tailormix.experiments.building import load_data
from tailormix.experiments.experiment import Experiment
from tailormix.experiments.shifts import shifted_predictions
from tailormix.studies import references, running
from tailormix.studies.page import study_page
from tailormix.studies.pictures import study_pictures
from tailormix.studies.raw import FACTS, LAST, read_csv, update_csv
from tailormix.studies.running import choose, result_of
from tailormix.studies.study import Study, read_study
from tailormix.training.evaluating import shift_metrics
from tailormix.training.joint_step import NotStackable
from tailormix.training.run_folder import RESULT

SEARCH = 'search = { "method.alpha" = [0.1, 0.5, 1.0] }\n'
DIGITS = '[data.digits]\ndata = { name = "digits", corrupt = ["contrast", "pixelate"], severities = [3] }\n'
FAILING = """
from tailormix import Method
from tailormix.coefficients import Beta
from tailormix.interpolation import Linear
from tailormix.objectives import MixedTargets

class NoPairs:
    source = "batch"
    needs_embeddings = False

    def __call__(self, batch, draws):
        raise RuntimeError("no luck with this batch")

def Mine():
    return Method(NoPairs(), Beta(1.0), Linear(), MixedTargets())
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path]:
    folder = tmp_path_factory.mktemp("study")
    (folder / "small.toml").write_text(SMALL)
    done = call("study", str(folder / "small.toml"), "--out", str(folder / "runs"), "--results", str(folder))
    assert done.exit_code == 0, done.output
    return read_study(folder / "small.toml"), folder


def test_raw_results_have_a_row_per_run_and_test_metrics_of_chosen_ones_alone(
    finished: tuple[Study, Path],
) -> None:
    _, folder = finished
    rows = read_csv(folder / "small.csv")
    cells = {(row["data"], row["row"]) for row in rows}
    assert len(cells) == 8
    mixup = [row for row in rows if row["row"] == "mixup" and row["data"] == "moons"]
    assert len(mixup) == 4
    for seed in ("0", "1"):
        mine = [row for row in mixup if row["seed"] == seed]
        for prefix, nll in (("", "validation_nll"), ("ts_", "validation_ts_nll")):
            best = min(mine, key=lambda row: float(row[nll]))
            assert [row[f"{prefix}chosen"] == "1" for row in mine] == [row is best for row in mine]
            assert [bool(row[f"{prefix}nll"]) for row in mine] == [row is best for row in mine]
    assert all(row["selected_by"] == "validation" and row["torch"] for row in rows)


def test_numbers_are_those_of_the_results(finished: tuple[Study, Path]) -> None:
    study, folder = finished
    runs = study.runs("moons", study.rows["erm"], folder / "runs", [0])
    result = json.loads((runs[0].path / RESULT).read_text())
    row = next(
        row
        for row in read_csv(folder / "small.csv")
        if (row["data"], row["row"], row["seed"]) == ("moons", "erm", "0")
    )
    assert float(row["nll"]) == pytest.approx(result["test"]["before"]["nll"], rel=1e-5)
    assert float(row["ts_ece"]) == pytest.approx(result["test"]["after temperature"]["ece"], rel=1e-5)


def test_studies_that_end_at_the_same_time_lose_no_row(finished: tuple[Study, Path], tmp_path: Path) -> None:
    rows = read_csv(finished[1] / "small.csv")
    path = tmp_path / "small.csv"
    with ThreadPoolExecutor(8) as threads:
        calls = [threads.submit(update_csv, [{**rows[0], "seed": str(seed)}], path) for seed in range(32)]
    for each in calls:
        each.result()
    assert sorted(int(row["seed"]) for row in read_csv(path)) == list(range(32))


def test_an_ensemble_of_a_searched_row_is_measured_with_a_temperature_alone(
    finished: tuple[Study, Path],
) -> None:
    """Its members are what was chosen with one; its answers are the mean of theirs."""
    study, folder = finished
    mixup = study.rows["mixup"]
    for seed, run in choose(study, "moons", mixup, folder / "runs", [0, 1], scaled=True).items():
        (row,) = (
            row
            for row in read_csv(folder / "small.csv")
            if (row["data"], row["row"], row["seed"]) == ("moons", "pair", str(seed))
        )
        assert (row["chosen"], row["ts_chosen"], row["nll"], row["accuracy"]) == ("0", "1", "", "")
        found = [load_predictions(member.path) for member in study.members(study.rows["pair"], run)]
        mean = sum(softmax(one.logits.astype(float), axis=1) for one in found) / 2
        right = (mean.argmax(1) == found[0].targets).mean()
        assert float(row["ts_accuracy"]) == pytest.approx(right, abs=1e-6)


def test_an_ensemble_is_no_worse_than_its_members_on_average_also_under_shift(tmp_path: Path) -> None:
    """Of one candidate. What a finished run answers again gives its own metrics."""
    (tmp_path / "small.toml").write_text(SMALL.replace(SEARCH, "") + DIGITS)
    arguments = ("study", str(tmp_path / "small.toml"), "--data", "digits", "--rows", "pair", "--seeds", "0")
    done = call(*arguments, "--out", str(tmp_path / "runs"), "--results", str(tmp_path))
    assert done.exit_code == 0, done.output
    study = read_study(tmp_path / "small.toml")
    chosen = choose(study, "digits", study.rows["mixup"], tmp_path / "runs", [0], scaled=True)[0]
    nll, clean = [], []
    for run in study.members(study.rows["pair"], chosen):
        result = result_of(run)
        assert result is not None
        stored = result["shifts"]["corrupted"]
        answers = shifted_predictions(run.experiment, run.path, result)
        assert sorted(answers) == ["contrast-3", "pixelate-3"]
        assert shift_metrics(answers, None, None)["corrupted"]["before"] == pytest.approx(stored["before"])
        nll.append(stored["before"]["nll"])
        clean.append(result["test"]["before"]["nll"])
    (row,) = (row for row in read_csv(tmp_path / "small.csv") if row["row"] == "pair")
    assert float(row["nll"]) <= sum(clean) / 2 + 1e-6
    assert float(row["corrupted_nll"]) <= sum(nll) / 2 + 1e-6
    assert float(row["corrupted_ts_accuracy"]) == float(row["corrupted_accuracy"])
    kinds = [float(row[f"{kind}_accuracy"]) for kind in ("contrast", "pixelate")]
    assert sum(kinds) / 2 == pytest.approx(float(row["corrupted_accuracy"]), abs=1e-6)


def test_trees_are_evaluated_under_shift_too(tmp_path: Path) -> None:
    """The accuracy on corrupted images is the mean of scikit-learn's own score over the parts."""
    (tmp_path / "small.toml").write_text(SMALL + DIGITS)
    study = read_study(tmp_path / "small.toml")
    run = study.runs("digits", study.rows["trees"], tmp_path / "runs", [0])[0]
    references.fit(run)
    found = result_of(run)
    assert found is not None
    splits = load_data(run.experiment)
    model = references.build("hist-gradient-boosting", {"max_iter": 3}, seed=0)
    model.fit(*references.arrays(splits.train))
    scores = [model.score(*references.arrays(part)) for part in splits.shifts.values()]
    assert len(scores) == 2
    assert found["shifts"]["corrupted"]["before"]["accuracy"] == pytest.approx(sum(scores) / 2)
    assert "after temperature" in found["shifts"]["corrupted"]


def test_finished_runs_are_not_repeated_and_other_rows_stay_in_the_file(
    finished: tuple[Study, Path],
) -> None:
    study, folder = finished
    before = (folder / "small.csv").read_text()
    times = {path: path.stat().st_mtime_ns for path in (folder / "runs").rglob(RESULT)}
    done = call(
        *("study", str(folder / "small.toml"), "--rows", "erm", "--out", str(folder / "runs")),
        *("--results", str(folder)),
    )
    assert done.exit_code == 0
    assert (folder / "small.csv").read_text() == before
    assert {path: path.stat().st_mtime_ns for path in (folder / "runs").rglob(RESULT)} == times
    assert study.name == "small"


def test_tables_and_pictures(finished: tuple[Study, Path]) -> None:
    study, folder = finished
    rows = read_csv(folder / "small.csv")
    page = study_page(study, rows)
    assert page.startswith("# Small\n")
    assert "| Plain | 0 |" in page
    assert "## moons" in page
    pictures = study_pictures(study, rows)
    assert list(pictures) == ["small.png"]  # two data sets rank nothing
    assert [axes.get_title() for axes in pictures["small.png"].axes] == [
        "ECE,\nnothing calibrated",
        "NLL,\nboth with temperature",
    ]


def test_differences_on_each_data_set_by_hand(finished: tuple[Study, Path]) -> None:
    """Mixup gains 0.1 and 0.3 on moons, nothing on circles; t of one degree of freedom is 12.706."""
    study, _ = finished
    accuracies = {
        "moons": {"erm": (0.5, 0.5), "mixup": (0.6, 0.8)},
        "circles": {"erm": (0.5, 0.6), "mixup": (0.5, 0.6)},
    }
    rows = [
        {"data": data, "row": row, "seed": str(seed), "accuracy": str(value)}
        for data, found in accuracies.items()
        for row, values in found.items()
        for seed, value in enumerate(values)
    ]
    page = study_page(study, rows)
    whole, _, each = page.partition("## moons")
    assert "| mixup | +10.00 [−53.53, +73.53] |" in whole
    moons, _, circles = each.partition("## circles")
    assert "| mixup | +20.00 [−107.06, +147.06] |" in moons
    assert "| mixup | +0.00 [+0.00, +0.00] |" in circles


def test_kinds_of_corruption_are_compared_where_the_baseline_has_them(finished: tuple[Study, Path]) -> None:
    study, _ = finished
    kinds = {"ts_accuracy": "0.5", "jpeg_ts_accuracy": "0.5", "contrast_ts_accuracy": "0.25"}
    rows = [
        {"data": "moons", "row": "erm", "seed": "0", **kinds},
        {"data": "moons", "row": "mixup", "seed": "0", **kinds, "jpeg_ts_accuracy": "0.75"},
        {"data": "moons", "row": "trees", "seed": "0", "ts_accuracy": "0.5"},
        {"data": "circles", "row": "erm", "seed": "0", "ts_accuracy": "0.5"},
        {"data": "circles", "row": "mixup", "seed": "0", **kinds},
    ]
    some = {"data": "moons", "row": "pair", "ts_accuracy": "0.5"}  # one of its runs has no kinds
    rows += [{**some, **kinds, "seed": "0"}, {**some, "seed": "1"}]
    whole, _, each = study_page(study, rows).partition("## moons")
    moons, _, circles = each.partition("## circles")
    alone = study_page(study, [row for row in rows if row["data"] == "moons"])
    assert "by kind" not in whole
    for part in (alone.partition("## moons")[0], moons):
        table = part.partition("Accuracy with T by kind of corruption")[2]
        assert "|  | contrast | jpeg |" in table
        assert "| +0.00 | +25.00 |" in table
        assert "trees" not in table  # it has no kinds
        assert "| pair |" not in table
        table = part.partition("Light and other corruptions with T")[2]
        assert "|  | light: accuracy | other: accuracy |" in table
        assert "| +0.00 | +25.00 |" in table
    assert "jpeg" not in moons.partition("Differences from")[0]  # values stay narrow
    assert "by kind" not in circles  # its baseline has none


def test_rows_are_compared_with_another_row_than_the_baseline(finished: tuple[Study, Path]) -> None:
    """Trees less mixup: 0.1 and 0.3 on moons, t of one degree of freedom is 12.706; on circles 0.2 twice."""
    study, folder = finished
    path = folder / "compared.toml"
    path.write_text(SMALL.replace("max_iter = [3, 5] }", 'max_iter = [3, 5] }\ncompare = "mixup"'))
    values = {
        ("moons", "mixup"): (0.5, 0.5),
        ("moons", "trees"): (0.6, 0.8),
        ("circles", "mixup"): (0.5, 0.6),
        ("circles", "trees"): (0.7, 0.8),
    }
    rows = [
        {"data": data, "row": row, "seed": str(seed), "ts_accuracy": str(value)}
        for (data, row), each in values.items()
        for seed, value in enumerate(each)
    ]
    page = study_page(read_study(path), rows)
    whole, _, each = page.partition("## moons")
    assert "## One method against another" in whole
    assert "| trees, less mixup | +20.00 [−43.53, +83.53] |" in whole
    alone = study_page(study, rows)
    assert "less mixup" not in alone
    assert "| trees, less mixup | **+20.00" in each.partition("## circles")[2]


def test_a_study_of_its_baseline_alone_has_nothing_to_draw(finished: tuple[Study, Path]) -> None:
    study, folder = finished
    rows = [row for row in read_csv(folder / "small.csv") if row["row"] == study.baseline]
    assert study_pictures(study, rows) == {}
    assert "small.png" not in study_page(study, rows)
    assert "| Plain | 0 |" in study_page(study, rows)


def test_rows_of_earlier_calls_are_compared_with_where_the_file_has_them(
    finished: tuple[Study, Path], tmp_path: Path
) -> None:
    """Without the baseline there is nothing to compare with: values alone are shown."""
    _, folder = finished
    arguments = ("study", str(folder / "small.toml"), "--rows", "mixup", "--finished")
    alone = call(*arguments, "--out", str(folder / "runs"), "--results", str(tmp_path)).stdout
    assert "## moons" in alone
    assert "## Test rows" not in alone
    (tmp_path / "small.csv").write_text((folder / "small.csv").read_text())
    shown = call(*arguments, "--out", str(folder / "runs"), "--results", str(tmp_path)).stdout
    assert "## Test rows" in shown
    assert "| Plain | 0 |" in shown


def test_a_forecast_counts_runs(finished: tuple[Study, Path]) -> None:
    _, folder = finished
    done = call("study", str(folder / "small.toml"), "--out", str(folder / "runs"), "--dry-run", "--json")
    rows = json.loads(done.stdout)
    assert {(row["data"], row["row"]): row["runs"] for row in rows}["moons", "mixup"] == 4
    assert all(row["finished"] == row["runs"] for row in rows)


def test_the_csv_reads_as_any_csv(finished: tuple[Study, Path]) -> None:
    _, folder = finished
    with (folder / "small.csv").open(newline="") as file:
        header, *lines = list(csv.reader(file))
    assert header[:6] == ["data", "row", "seed", "candidate", "chosen", "ts_chosen"]
    assert all(len(line) == len(header) for line in lines)


def test_seeds_that_search_choose_for_the_others(tmp_path: Path) -> None:
    """Seeds 0 and 1 try both candidates, seed 2 trains the one with the lowest mean NLL of the two."""
    (tmp_path / "small.toml").write_text("search_seeds = 2\n" + SMALL)
    arguments = ("study", str(tmp_path / "small.toml"), "--data", "moons", "--out", str(tmp_path / "runs"))
    planned = json.loads(call(*arguments, "--seeds", "0-2", "--dry-run", "--json").stdout)
    assert {row["row"]: row["runs"] for row in planned} == {"erm": 3, "mixup": 5, "pair": 3, "trees": 5}
    done = call(*arguments, "--seeds", "2", "--rows", "erm,mixup,pair", "--results", str(tmp_path))
    assert done.exit_code == 0, done.output
    study = read_study(tmp_path / "small.toml")
    mixup = study.rows["mixup"]
    tried = study.runs("moons", mixup, tmp_path / "runs", [0, 1])
    for scaled, stage in ((False, "before"), (True, "after temperature")):
        means: dict[float, float] = {}
        for run in tried:
            nll = json.loads((run.path / RESULT).read_text())["validation"][stage]["nll"]
            alpha = run.candidate["method.alpha"]
            means[alpha] = means.get(alpha, 0.0) + nll
        chosen = choose(study, "moons", mixup, tmp_path / "runs", [0, 1, 2], scaled=scaled)
        assert sorted(chosen) == [0, 1, 2]
        assert {run.candidate["method.alpha"] for run in chosen.values()} == {
            min(means, key=lambda a: means[a])
        }
    rows = read_csv(tmp_path / "small.csv")
    assert {row["row"]: row["ts_chosen"] for row in rows} == {"erm": "1", "mixup": "1", "pair": "1"}
    assert not study.runs("moons", study.rows["erm"], tmp_path / "runs", [0])[0].path.exists()


def test_runs_that_the_file_has_are_not_repeated_where_their_folders_are_gone(
    finished: tuple[Study, Path], tmp_path: Path
) -> None:
    _, folder = finished
    before = (folder / "small.csv").read_text()
    (tmp_path / "small.csv").write_text(before)
    arguments = ("study", str(folder / "small.toml"), "--out", str(tmp_path / "runs"))
    done = call(*arguments, "--results", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert "| Plain | 0 |" in done.stdout
    assert not (tmp_path / "runs").exists()
    assert (tmp_path / "small.csv").read_text() == before
    planned = json.loads(call(*arguments, "--results", str(tmp_path), "--dry-run", "--json").stdout)
    assert all(row["finished"] == row["runs"] for row in planned)


def test_a_search_goes_on_from_the_file(tmp_path: Path) -> None:
    """A further seed trains what the searching one chose by the file; another search trains its own."""
    file = tmp_path / "small.toml"
    file.write_text("search_seeds = 1\n" + SMALL)
    arguments = ("study", str(file), "--data", "moons", "--rows", "mixup", "--results", str(tmp_path))
    assert call(*arguments, "--seeds", "0", "--out", str(tmp_path / "first")).exit_code == 0
    searched = read_csv(tmp_path / "small.csv")
    assert call(*arguments, "--seeds", "1", "--out", str(tmp_path / "second")).exit_code == 0
    rows = read_csv(tmp_path / "small.csv")
    assert [row for row in rows if row["seed"] == "0"] == searched
    chosen = {row["candidate"] for row in searched if "1" in (row["chosen"], row["ts_chosen"])}
    assert {row["candidate"] for row in rows if row["seed"] == "1"} == chosen
    trained = [path.parent for path in (tmp_path / "second").rglob(RESULT)]
    assert [path.name for path in trained] == ["seed-1"] * len(chosen)

    whole = (tmp_path / "small.csv").read_text()
    alone = "".join(line for line in whole.splitlines(keepends=True) if not line.startswith("moons,mixup,0,"))
    (tmp_path / "small.csv").write_text(alone)
    call(*arguments, "--seeds", "1", "--finished", "--out", str(tmp_path / "nothing"))
    assert (tmp_path / "small.csv").read_text() == alone  # what seed 0 chose is not known: nothing is erased
    (tmp_path / "small.csv").write_text(whole)

    file.write_text(file.read_text().replace("[0.1, 0.5, 1.0]", "[0.2, 0.4]"))
    done = call(*arguments, "--seeds", "0", "--out", str(tmp_path / "third"))
    assert done.exit_code == 2
    assert "has a candidate of row mixup that its search now lacks" in " ".join(done.output.split())
    assert (tmp_path / "small.csv").read_text() == whole  # nothing that was searched is lost
    assert not (tmp_path / "third").exists()


def test_a_wider_search_trains_its_new_candidates_alone(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    arguments = ("study", str(file), "--data", "moons", "--rows", "mixup", "--seeds", "0")

    def searched(alphas: str, out: str, results: Path | None = None) -> list[dict[str, str]]:
        file.write_text(SMALL.replace("budget = 2", "budget = 4").replace("[0.1, 0.5, 1.0]", alphas))
        done = call(*arguments, "--out", str(tmp_path / out), "--results", str(results or tmp_path))
        assert done.exit_code == 0, done.output
        return [
            {name: value for name, value in row.items() if name not in ("seconds", "commit")}
            for row in read_csv((results or tmp_path) / "small.csv")
        ]

    searched("[0.1, 1.0]", "first")
    wider = searched("[0.1, 1.0, 2.0]", "second")
    assert len(list((tmp_path / "second").rglob(RESULT))) == 1
    assert wider == searched("[0.1, 1.0, 2.0]", "anew", tmp_path / "anew")
    assert {row["chosen"] for row in wider} == {"0", "1"}
    for row in wider:
        assert (row["accuracy"] == "") == (row["chosen"] == "0")
        assert (row["ts_accuracy"] == "") == (row["ts_chosen"] == "0")

    file.write_text(
        SMALL.replace("budget = 2", "budget = 4").replace("[0.1, 0.5, 1.0]", "[0.1, 1.0, 2.0, 4.0]")
    )
    before = (tmp_path / "small.csv").read_text()
    unfinished = ("--finished", "--out", str(tmp_path / "nothing"), "--results", str(tmp_path))
    assert call(*arguments, *unfinished).exit_code == 0
    assert (tmp_path / "small.csv").read_text() == before  # a search that is not finished erases nothing
    searched("[0.1, 1.0, 2.0]", "second")
    found = call(*arguments, "--json", "--out", str(tmp_path / "first"), "--results", str(tmp_path)).stdout
    kinds = [{name: type(value) for name, value in row.items()} for row in json.loads(found)]
    assert kinds[0]["seed"] is int
    assert {kind["validation_nll"] for kind in kinds} == {float}


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "small.csv").write_text("data,row,price\na,b,3\n")
    done = call("study", str(tmp_path / "small.toml"), "--results", str(tmp_path), "--out", str(tmp_path))
    assert done.exit_code == 2
    assert "must hold results of a study, but has no column 'seed'" in " ".join(done.output.split())
    assert (tmp_path / "small.csv").read_text() == "data,row,price\na,b,3\n"


@pytest.mark.parametrize("shared", ["loss", "seed", "nothing"])
def test_what_cannot_be_stacked_trains_in_smaller_groups(
    shared: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seeds of one loss at once, or candidates of one seed, whose splits may differ in size; or singly."""
    stacked, single = [], []

    def together(experiments: list[Experiment], _paths: list[Path]) -> list[None]:
        found = [(each.loss.options["alpha"], each.training.seed) for each in experiments]
        alike = {"loss": {alpha for alpha, _ in found}, "seed": {seed for _, seed in found}, "nothing": "ab"}
        if len(alike[shared]) > 1:
            raise NotStackable("they differ")
        stacked.append(found)
        return [None] * len(experiments)

    monkeypatch.setattr(running, "run_together", together)
    monkeypatch.setattr(running, "run_experiment", lambda experiment, _: single.append(experiment))
    alphas = (0.02, 0.05, 0.1, 0.2)
    row = (
        f'[rows.ls]\nset = {{ method = "erm", loss = "ls" }}\nsearch = {{ "loss.alpha" = {list(alphas)} }}\n'
    )
    (tmp_path / "small.toml").write_text(SMALL.replace("budget = 2", "budget = 4") + row)
    study = read_study(tmp_path / "small.toml")
    (done,) = running.run_cells(study, study.cells("moons", "ls"), tmp_path, [0, 1])
    assert (
        stacked
        == {
            "loss": [[(alpha, 0), (alpha, 1)] for alpha in alphas],
            "seed": [[(alpha, seed) for alpha in alphas] for seed in (0, 1)],
            "nothing": [],
        }[shared]
    )
    assert len(single) == (8 if shared == "nothing" else 0)
    assert done == ("moons/ls", ["trained one by one: they differ"] if single else [])


def test_an_ensemble_whose_members_train_one_by_one_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def together(*_: object) -> None:
        raise NotStackable("they differ")

    monkeypatch.setattr(running, "run_together", together)
    (tmp_path / "small.toml").write_text(SMALL)
    study = read_study(tmp_path / "small.toml")
    ((name, messages),) = running.run_cells(study, study.cells("moons", "pair"), tmp_path, [0])
    assert name == "moons/pair"
    assert set(messages) == {"trained one by one: they differ"}
    chosen = choose(study, "moons", study.rows["mixup"], tmp_path, [0], scaled=True)
    members = study.members(study.rows["pair"], chosen[0])
    assert len(members) == 2
    assert all(result_of(member) for member in members)


def test_parts_of_ones_own_are_no_corruptions() -> None:
    answers = Predictions(logits=torch.eye(2).double(), targets=torch.tensor([0, 1]))
    found = shift_metrics({"week-1": answers, "jpeg-1": answers}, None, None)
    assert list(found) == ["week-1", "corrupted"]
    assert list(found["corrupted"]["parts"]) == ["jpeg-1"]


def test_a_candidate_that_diverges_is_never_chosen_nor_tried_again(tmp_path: Path) -> None:
    wild = SMALL.replace('"method.alpha" = [0.1, 0.5, 1.0]', '"optimiser.lr" = [1e-2, 1e30]')
    (tmp_path / "small.toml").write_text(wild)
    arguments = ("study", str(tmp_path / "small.toml"), "--data", "moons", "--rows", "mixup", "--seeds", "0")
    places = ("--out", str(tmp_path / "runs"), "--results", str(tmp_path))
    first = call(*arguments, *places)
    assert first.exit_code == 0, first.output
    assert "diverged, and is not chosen" in first.output
    (row,) = read_csv(tmp_path / "small.csv")
    assert (row["candidate"], row["chosen"]) == ('{"optimiser.lr": 0.01}', "1")
    again = call(*arguments, *places)
    assert again.exit_code == 0
    assert "diverged" not in again.output


def test_a_cell_that_fails_is_told_and_the_others_are_written(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "mine.py").write_text(FAILING)
    arguments = (
        "study",
        str(tmp_path / "small.toml"),
        "--data",
        "moons",
        "--rows",
        "*Mine,erm",
        "--seeds",
        "0",
    )
    places = ("--out", str(tmp_path / "runs"), "--results", str(tmp_path))
    done = call(*arguments, "--add", f"{tmp_path}/mine.py:Mine", *places)
    assert done.exit_code == 1
    assert "no luck with this batch" in done.output
    assert [(row["data"], row["row"]) for row in read_csv(tmp_path / "small.csv")] == [("moons", "erm")]


def test_data_that_cannot_be_read_are_told_before_anything_is_trained(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(
        SMALL.replace('data = "circles"', 'data = { name = "table", path = "missing.csv" }')
    )
    arguments = ("study", str(tmp_path / "small.toml"), "--rows", "erm", "--seeds", "0")
    done = call(*arguments, "--out", str(tmp_path / "runs"), "--results", str(tmp_path))
    assert done.exit_code == 2
    assert "missing.csv" in done.stderr
    assert not list(tmp_path.rglob("result.json"))
    assert not (tmp_path / "small.csv").exists()


def test_what_needs_no_training_needs_no_data(finished: tuple[Study, Path], tmp_path: Path) -> None:
    """All runs are in the file of results. With other seeds the data must be there: of ensembles too."""
    _, folder = finished
    rows = read_csv(folder / "small.csv")
    update_csv(rows, tmp_path / "small.csv")
    arguments = ("study", str(folder / "small.toml"), "--out", str(tmp_path), "--results", str(tmp_path))
    before = running.load_data
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "load_data", lambda _: pytest.fail("data were read"))
        assert call(*arguments, "--rows", "erm,mixup,trees").exit_code == 0
    read = []
    study = replace(read_study(folder / "small.toml"), earlier=rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "load_data", lambda each: read.append(each.data.name) or before(each))
        running.check_cells(study, study.cells("*", "pair"), tmp_path, [0, 1])
        assert read == []
        without = replace(study, earlier=[row for row in rows if row["row"] != "pair"])
        running.check_cells(without, without.cells("*", "pair"), tmp_path, [0])
        assert read == ["moons", "circles"]
        running.check_cells(study, study.cells("moons", "erm,trees"), tmp_path, [0, 1, 2])
        assert read == ["moons", "circles", "moons"]


def test_later_seeds_of_a_shared_search_need_no_data_where_they_are_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "load_data", lambda _: pytest.fail("data were read"))
    tuned = read_study("tuned")
    study = replace(tuned, earlier=read_csv(RESULTS / "tuned.csv"))
    running.check_cells(study, study.cells("cifar10", "erm,mixup"), tmp_path, [1, 2, 3, 4])


def test_options_that_a_reference_lacks_are_told_before_anything_is_trained(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL.replace("max_iter", "max_itr"))
    arguments = ("study", str(tmp_path / "small.toml"), "--data", "moons", "--rows", "erm,trees")
    done = call(*arguments, "--out", str(tmp_path / "runs"))
    assert done.exit_code == 2
    assert "reference hist-gradient-boosting" in done.stderr
    assert "max_itr" in done.stderr
    assert not list(tmp_path.rglob("result.json"))


def test_a_row_of_an_earlier_call_is_shown_and_is_not_called_out_of_date(
    finished: tuple[Study, Path], tmp_path: Path
) -> None:
    _, folder = finished
    rows = read_csv(folder / "small.csv")
    update_csv(
        [{**row, "row": "my.Mine"} for row in rows if row["row"] == "erm"] + rows, tmp_path / "small.csv"
    )
    done = call("study", str(folder / "small.toml"), "--finished", "--results", str(tmp_path))
    assert "other settings" not in done.stderr
    assert "| my.Mine |" in done.stdout


def test_a_method_of_ones_own_is_trained_again_where_only_the_file_knows_it(tmp_path: Path) -> None:
    """Its code may have changed since: the numbers are those of the code that stands there."""
    (tmp_path / "small.toml").write_text(SMALL)
    mine = tmp_path / "mine.py"
    arguments = ("study", str(tmp_path / "small.toml"), "--data", "moons", "--rows", "*Mine", "--seeds", "0")
    found = []
    for strength in (0.1, 5.0):
        mine.write_text(f"from tailormix import Mixup\n\ndef Mine():\n    return Mixup(alpha={strength})\n")
        out = ("--out", str(tmp_path / f"runs-{strength}"), "--results", str(tmp_path))
        done = call(*arguments, "--add", f"{mine}:Mine", *out)
        assert done.exit_code == 0, done.output
        (row,) = read_csv(tmp_path / "small.csv")
        found.append(row["validation_nll"])
    assert found[0] != found[1]


def test_rows_with_more_candidates_are_named(finished: tuple[Study, Path]) -> None:
    study, folder = finished
    rows = read_csv(folder / "small.csv")
    more = [{**row, "candidate": "{}"} for row in rows if (row["row"], row["seed"]) == ("mixup", "1")]
    assert "Not so: `mixup` (2 or 4)." in study_page(study, [*rows, *more])
    assert "Not so" not in study_page(study, rows)


def test_a_reference_is_no_model(finished: tuple[Study, Path]) -> None:
    study, folder = finished
    (run,) = study.runs("moons", study.rows["trees"], folder / "runs", [0])[:1]
    done = call("report", str(run.path), "-o", str(folder / "report.html"))
    assert "a reference of a study, hist-gradient-boosting" in " ".join(done.output.split())
    done = call("predict", str(run.path), "new.npz")
    assert done.exit_code != 0
    assert "holds the answers of hist-gradient-boosting, a reference of a study: no model" in done.stderr


def test_a_study_of_ones_own_has_a_page_and_rows_that_were_added(finished: tuple[Study, Path]) -> None:
    _, folder = finished
    rows = read_csv(folder / "small.csv")
    extra = [{**row, "row": "my.Mine"} for row in rows if row["row"] == "mixup"]
    place = folder / "page"
    update_csv([*rows, *extra], place / "small.csv")
    arguments = ("results", "--folder", str(place))
    assert "has no results files" in " ".join(call(*arguments).output.split())
    done = call(*arguments, "--study", str(folder / "small.toml"))
    assert done.exit_code == 0, done.output
    text = (place / "small.md").read_text("utf-8")
    assert "10 of 10 cells are there" in text
    assert "`tailormix study small.toml --results FOLDER`" in text
    assert "Not so" not in text
    assert "| my.Mine | " in text
    assert (place / "small.png").is_file()
    missing = call("results", "--folder", str(folder / "runs"), "--study", str(folder / "small.toml"))
    assert missing.exit_code == 2
    assert "there is no" in missing.output


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has no column 'data'"),
        ("{rows}abc", "row 1, seed: expected a number, got 'abc'"),
        ("{rows}0,{oops", "row 1, candidate: expected JSON, got '{oops'"),
        ("{rows}0,,,,,,,,,,,,,,,,,,,,,,,,,", "row 1: expected 17 cells"),
    ],
)
def test_a_damaged_file_is_told_with_its_place(content: str, message: str, tmp_path: Path) -> None:
    names = (*FACTS, *LAST)
    text = content.replace("{rows}", ",".join(names) + "\nmoons,erm,")
    path = tmp_path / "small.csv"
    last = text.rpartition("\n")[2]
    path.write_text(text + "," * max(len(names) - 1 - last.count(","), 0) if last else text)
    with pytest.raises(ValueError, match=message):
        read_csv(path)
