"""``tailormix tune`` from outside."""

import json
import sys
from pathlib import Path
from typing import Any

import optuna
import pytest

from cli.calling import call, told
from tailormix.experiments import parallel, read
from tailormix.experiments.tuning import study

QUICK = [
    "tune",
    "moons",
    "--set",
    "epochs=1",
    "--set",
    "batch=180",
    "--set",
    "accelerator=cpu",
    "--splits",
    "2",
]
OVER = ["--over", "method.tau_std=0.25,1"]


def test_the_best_setting_becomes_an_experiment_file(tmp_path: Path) -> None:
    done = call(*QUICK, *OVER, "--out", tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "trade-off by method.tau_std" in done.stdout
    assert "●" in done.stdout
    assert "trial 1 complete: method.tau_std=1" in done.stderr
    (folder,) = tmp_path.iterdir()
    assert f"tailormix train {folder / 'best.toml'}" in done.stdout
    again = call(*QUICK, *OVER, "--out", tmp_path, "--json")
    assert again.exit_code == 0
    assert "trial" not in again.stderr  # nothing is tried twice
    found = json.loads(again.stdout)
    tuned = read(found["files"]["best"])
    assert tuned.method.options["tau_std"] == found["best"]["values"]["method.tau_std"]
    assert "fold" not in tuned.data.options
    assert tuned.training.epochs == 1
    assert "tuned on 2 folds by trade-off" in tuned.summary
    assert [row["value"] for row in found["sensitivity"]["method.tau_std"]] == ["0.25", "1"]
    assert json.loads((folder / "trials.json").read_text())["best"] == found["best"]
    url = f"sqlite:///{folder / 'study.db'}"
    optuna.load_study(study_name=folder.name, storage=url).ask()  # as another process would
    shared = call(*QUICK, *OVER, "--out", tmp_path, "--json")
    assert (shared.exit_code, json.loads(shared.stdout)["under way"]) == (0, 1)
    assert "settings running in other processes: 1" in told(shared)


def test_a_grid_is_trained_together(tmp_path: Path) -> None:
    done = call(*QUICK, *OVER, "--together", "--out", tmp_path / "together", "--json")
    assert done.exit_code == 0, done.stderr
    alone = call(*QUICK, *OVER, "--out", tmp_path / "alone", "--json")
    found, expected = (json.loads(each.stdout)["trials"] for each in (done, alone))
    assert [row["values"] for row in found] == [row["values"] for row in expected]
    for row, single in zip(found, expected, strict=True):
        assert row["metrics"]["nll"] == pytest.approx(single["metrics"]["nll"], rel=1e-3)
    results = [json.loads(path.read_text()) for path in (tmp_path / "together").rglob("result.json")]
    assert [result["execution"]["together"] for result in results] == [2] * 4


def test_what_is_no_grid_is_tried_one_by_one(tmp_path: Path) -> None:
    over = ["--over", "method.tau_std=0.25..1", "--trials", "1"]
    done = call(*QUICK, *over, "--together", "--out", tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "note: only a whole grid is trained together" in done.stderr
    wrong = call(*QUICK, *OVER, "--together", "--jobs", "2", "--out", tmp_path)
    assert wrong.exit_code == 2
    assert "--together trains in one process: expected --jobs 1, got 2" in told(wrong)


def test_two_processes_share_the_work(tmp_path: Path) -> None:
    done = call(*QUICK, *OVER, "--jobs", "2", "--out", tmp_path, "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert sorted(row["values"]["method.tau_std"] for row in found["trials"]) == [0.25, 1]
    assert done.stderr.count("complete: ") == 2


def test_a_process_that_fails_is_named_by_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "COMMAND", (sys.executable, "-c", "import sys; sys.exit('no luck')"))
    done = call(*QUICK, *OVER, "--jobs", "2", "--out", tmp_path)
    assert done.exit_code == 1
    assert "a process failed, see" in done.stderr
    (folder,) = tmp_path.iterdir()
    assert "no luck" in (folder / "worker-1.txt").read_text()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("nonsense", "nonsense"),
        ("nonsense://me:s3cret@host/db", "nonsense://me:***@host/db"),  # no such dialect
        ("nonsense://me:s3cret@host:port/db", "nonsense://me:***@host:port/db"),  # no number
        ("sqlite:///file:/no/db?uri=true&password=s3cret", "sqlite:///file:/no/db?uri=true&password=***"),
    ],
)
@pytest.mark.parametrize("by", ["option", "variable"])
def test_a_bad_storage_is_one_line_without_its_password(
    url: str, shown: str, by: str, tmp_path: Path
) -> None:
    options = ["--storage", url] if by == "option" else []
    variables = {} if options else {"TAILORMIX_STORAGE": url}
    done = call(*QUICK, *OVER, *options, "--out", tmp_path, **variables)
    assert done.exit_code == 1
    assert done.stderr.startswith(f"error: cannot open the storage '{shown}': ")
    assert done.stderr.count("\n") == 1
    assert "s3cret" not in done.output
    assert list(tmp_path.iterdir()) == []


def test_processes_are_told_the_storage_by_their_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No command line holds its password, and neither does anything that is printed or written."""
    tell = "import os, sys; print(os.environ['TAILORMIX_STORAGE'], sys.argv)"
    monkeypatch.setattr(parallel, "COMMAND", (sys.executable, "-c", tell))
    url = f"sqlite:///file:{tmp_path / 'study.db'}?uri=true&passphrase=s3cret"
    done = call(*QUICK, *OVER, "--jobs", "1", "--storage", url, "--out", tmp_path / "out", "--json")
    assert json.loads(done.stdout)["storage"] == url.replace("s3cret", "***")
    again = call(*QUICK, *OVER, "--jobs", "2", "--storage", url, "--out", tmp_path / "out")
    assert (again.exit_code, "s3cret" in done.output + again.output) == (0, False)
    (folder,) = (tmp_path / "out").iterdir()
    said = (folder / "worker-1.txt").read_text()
    assert said.startswith(f"{url} [")
    assert "s3cret" not in said.removeprefix(url)
    assert "--worker" in said
    texts = [path.read_text() for path in folder.iterdir() if path.suffix in (".json", ".toml")]
    assert len(texts) == 2
    assert "s3cret" not in "".join(texts)


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = call(*QUICK, *OVER, "--out", tmp_path / "file" / "tuning")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: cannot write into {tmp_path / 'file' / 'tuning'}")
    assert done.stderr.endswith("(Not a directory): choose another folder with --out\n")


def test_ctrl_c_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, done = study.run_experiment, [0]

    def interrupted(*arguments: Any, **options: Any) -> Any:
        done[0] += 1
        if done[0] == 3:  # the first fold of the second setting
            raise KeyboardInterrupt
        return run(*arguments, **options)

    monkeypatch.setattr(study, "run_experiment", interrupted)
    stopped = call(*QUICK, *OVER, "--out", tmp_path, "--json")
    assert stopped.exit_code == 130
    assert "stopped: the same command resumes" in stopped.stderr
    assert [row["values"] for row in json.loads(stopped.stdout)["trials"]] == [{"method.tau_std": 0.25}]
    again = call(*QUICK, *OVER, "--out", tmp_path, "--json")
    assert again.exit_code == 0
    assert [row["values"]["method.tau_std"] for row in json.loads(again.stdout)["trials"]] == [0.25, 1]
    assert done[0] == 5


def test_when_no_setting_works_the_reason_is_printed(tmp_path: Path) -> None:
    done = call(*QUICK, "--over", "method.tau_std=-1,-2", "--out", tmp_path)
    assert done.exit_code == 1
    assert "tau_std must be > 0, got -1" in done.stdout
    assert "no setting ran on all folds" in done.stdout
