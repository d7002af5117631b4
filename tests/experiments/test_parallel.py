"""Several runs on every engine: one that fails is isolated, and a signal ends all of them cleanly."""

import importlib.util
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from cli.calling import call
from tailormix.experiments import parallel
from tailormix.experiments.experiment import fingerprint, read
from tailormix.experiments.parallel import ENGINES, Job, parse_seeds, run_jobs

PACKAGES = {"dask": "distributed", "ray": "ray"}
MINE = "from tailormix import Mixup\n\ndef gentle():\n    return Mixup(alpha=0.1)\n"
QUICK = ["train", "moons", "--set", "epochs=1", "--set", "accelerator=cpu"]


def needs(engine: str) -> Any:
    """The engine as a parameter, skipped where its package is not installed."""
    package = PACKAGES.get(engine)
    absent = package is not None and importlib.util.find_spec(package) is None
    return pytest.param(engine, marks=pytest.mark.skipif(absent, reason=f"{package} is not installed"))


@pytest.mark.parametrize("engine", [needs(name) for name in ENGINES])
def test_every_engine_starts_runs_here_and_names_itself(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder given relative to here is found from there; the second of two programs fails."""
    for variable in ("DASK_SCHEDULER_ADDRESS", "RAY_ADDRESS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    program = f"import os, sys; print(os.environ[{parallel.ENGINE_VARIABLE!r}]); sys.exit(int(sys.argv[2]))"
    monkeypatch.setattr(parallel, "COMMAND", (sys.executable, "-c", program))
    found = list(run_jobs([Job((str(code),), Path("runs") / str(code)) for code in (0, 3)], 2, engine))
    assert sorted((each.job.path.name, each.code) for each in found) == [("0", 0), ("3", 3)]
    assert [(tmp_path / "runs" / name / parallel.LOG).read_text() for name in "03"] == [f"{engine}\n"] * 2


def test_a_run_that_fails_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of seed 1 is blocked by a file; seed 0 finds the user's method in a process of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.py").write_text(MINE)
    settings = ["epochs=1", "accelerator=cpu", "method=my.py:gentle"]
    blocked = tmp_path / "runs" / f"moons-{fingerprint(read('moons', settings))}" / "seed-1"
    blocked.mkdir(parents=True)
    (blocked / "checkpoints").write_text("")
    before = signal.getsignal(signal.SIGTERM)
    done = call(*QUICK, "--set", settings[-1], "--seeds", "0-1", "--jobs", "2", "--json")
    assert done.exit_code == 2, done.stderr
    (row,) = json.loads(done.stdout)
    assert (row["seed"], row["method"]) == (0, "my.py:gentle")
    assert "failed (2): error: cannot write into " in done.stderr
    assert "again: tailormix train moons --set epochs=1" in done.stderr
    assert "--seeds 1 --out runs" in done.stderr
    assert "epoch 1/1" in (blocked.with_name("seed-0") / parallel.LOG).read_text()
    record = json.loads((blocked.with_name("seed-0") / "experiment.json").read_text())
    assert record["execution"] == {"ranks": 1, "batch_per_rank": [64], "engine": "local"}
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("engine", [needs("local"), needs("dask")])
def test_a_signal_reaches_every_run_once(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two programs that end with 7 at the first SIGTERM and with 8 at a second; a third that never starts."""
    heard = "lambda *_: (signal.signal(signal.SIGTERM, lambda *_: sys.exit(8)), time.sleep(0.6), sys.exit(7))"
    ready = "pathlib.Path(sys.argv[2]).write_text('')"
    program = (
        f"import pathlib, signal, sys, time; signal.signal(signal.SIGTERM, {heard}); {ready}; time.sleep(60)"
    )
    monkeypatch.setattr(parallel, "COMMAND", (sys.executable, "-c", program))
    jobs = [Job((str(tmp_path / f"ready-{n}"),), tmp_path / str(n)) for n in range(3)]
    ended = threading.Event()

    def stop_when_ready() -> None:
        while not ended.wait(0.05):
            if len(list(tmp_path.glob("ready-*"))) == 2:
                os.kill(os.getpid(), signal.SIGTERM)
                return

    watcher = threading.Thread(target=stop_when_ready)
    watcher.start()
    try:
        results = list(run_jobs(jobs, 2, engine))
    finally:
        ended.set()
        watcher.join()
    found = {each.job.path.name: (each.code, each.message) for each in results}
    assert found == {"0": (7, ""), "1": (7, ""), "2": (-signal.SIGTERM, parallel.NOT_STARTED)}
    assert not list(tmp_path.glob(".stop-*"))


@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="distributed is not installed")
def test_a_cluster_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", "nonsense://10.0.0.1:1")
    jobs = [Job(("moons",), tmp_path / "0")]
    with pytest.raises(ValueError, match="dask cannot use the cluster at DASK_SCHEDULER_ADDRESS=nonsense"):
        list(run_jobs(jobs, 1, "dask"))


def test_a_killed_process_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import os, sys; sys.argv[2] == 'b' and os.kill(os.getpid(), 9)"
    monkeypatch.setattr(parallel, "COMMAND", (sys.executable, "-c", program))
    results = list(run_jobs([Job((name,), tmp_path / name) for name in "abc"], 2))
    assert sorted((each.job.path.name, each.code) for each in results) == [("a", 0), ("b", -9), ("c", 0)]
    assert [each.result for each in results] == [None, None, None]
    assert list(run_jobs([], 1)) == []


def test_a_local_dask_cluster_listens_to_this_machine_alone(tmp_path: Path) -> None:
    psutil = pytest.importorskip("psutil")
    pytest.importorskip("distributed")

    def listening() -> set[tuple[str, int]]:
        found = psutil.Process().net_connections("inet")
        return {tuple(each.laddr) for each in found if each.status == psutil.CONN_LISTEN}

    before = listening()
    with parallel._backend("dask", 2) as options:
        opened = listening() - before
        assert options["client"].submit(sum, [1, 2]).result() == 3
    assert opened  # the page of the scheduler
    assert {host for host, _ in opened} == {"127.0.0.1"}


def test_the_error_of_a_job_is_the_whole_line_that_it_printed_this_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = f"error: cannot use my.csv: {'a long story, ' * 20}got 'red' in row 3"
    program = "import sys; print('epoch 1/3'); print(sys.argv[2]); print('goodbye'); sys.exit(2)"
    monkeypatch.setattr(parallel, "COMMAND", (sys.executable, "-c", program))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / parallel.LOG).write_text("error: of an earlier time\n")
    jobs = [Job((text,), tmp_path / name) for name, text in (("a", "no error"), ("b", line))]
    found = {each.job.path.name: (each.code, each.message) for each in run_jobs(jobs, 1)}
    assert found == {"a": (2, "goodbye"), "b": (2, line)}


def test_seeds() -> None:
    assert parse_seeds("3") == [3]
    assert parse_seeds("0-3, 2,9") == [0, 1, 2, 3, 9]
    for wrong in ("", "a", "-1", "1-", "3-1", "1;2"):
        with pytest.raises(ValueError, match="seeds must be numbers and ranges"):
            parse_seeds(wrong)
    with pytest.raises(ValueError, match="at most 100000 at a time"):
        parse_seeds("0-99999999999999")
