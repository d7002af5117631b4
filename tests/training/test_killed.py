"""``kill -9`` at any moment, start again, and nothing tells the run from one that was left alone."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

CASES = ["sk-mixup,default", "erm,crl"]


def test_three_kills_change_nothing(tmp_path: Path) -> None:
    """Weights, optimiser, CRL's history, metrics and predictions are equal bit by bit."""
    seed = random.SystemRandom().randrange(2**32)
    program = Path(__file__).with_name("killed.py")
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path), str(seed), *CASES],
        capture_output=True,
        text=True,
        timeout=280,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, f"seed {seed}: {done.stderr}"
    for case, found in json.loads(done.stdout).items():
        assert found["ends"] == [signal.SIGKILL] * 3, case
        assert 31 <= found["stopped_at"] < 60, case
        assert found["killed"] == found["alone"], f"{case}, seed {seed}"
