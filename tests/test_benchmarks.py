"""The benchmarks run: a quick pass of the light ones, whose figures nobody looks at here."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from helpers import ROOT

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
