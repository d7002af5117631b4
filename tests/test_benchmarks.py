"""The benchmarks run: a quick pass of the light ones, whose figures nobody looks at here."""

import json
import subprocess
import sys
from pathlib import Path

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
