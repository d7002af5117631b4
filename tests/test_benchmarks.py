"""The benchmarks run: a quick pass of the light ones, whose figures nobody looks at here."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.record import fastest, record

from helpers import ROOT
from tailormix.benching.timing import Timing

LIGHT = ("warping", "label_density", "method_costs")


def test_a_quick_pass_writes_its_records(tmp_path: Path) -> None:
    only = [word for name in LIGHT for word in ("--only", name)]
    command = [sys.executable, "-m", "benchmarks", "--quick", "--out", str(tmp_path), *only]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert results["settings"]["quick"] is True
    assert {row["benchmark"] for row in results["records"]} == {
        "warp",
        "C-Mixup partners",
        "own code of a step",
    }
    assert all(row["best_us"] > 0 and row["share"] > 0 for row in results["records"])
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_several_processes_are_judged_by_the_fastest_turns() -> None:
    """5 µs against 2 in one process and 4 against 4 in the other: 4 against 2."""
    runs = []
    for mine, peer in ((5e-6, 2e-6), (4e-6, 4e-6)):
        timings = {"mine": Timing(mine, mine), "peer": Timing(peer, peer)}
        runs.append([record("it", "1", "mine", timings, against="peer", at_most=2.2)])
    assert [rows[0]["met"] for rows in runs] == [False, True]
    (row,) = fastest(runs)
    assert row["share"] == pytest.approx(2)
    assert row["speed_up"] == pytest.approx(0.5)
    assert row["median_us"] == pytest.approx(4.5)
    assert row["met"] is True


def test_the_published_way_learns_a_made_airfoil(tmp_path: Path) -> None:
    """Noise that is linear in the first feature: after some epochs the error is far below its spread."""
    random = np.random.default_rng(0)
    table = random.random((1503, 6), dtype=np.float32)
    table[:, 5] = 10 * table[:, 0]
    (tmp_path / "airfoil").mkdir()
    np.savetxt(tmp_path / "airfoil" / "airfoil_self_noise.dat", table)
    command = [sys.executable, "-m", "benchmarks.published_airfoil", str(tmp_path), "8"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 0 < float(done.stdout) < table[:, 5].std() / 2
