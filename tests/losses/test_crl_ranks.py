"""CRL's history over two real processes: DDP's broadcast of buffers must not erase a rank's counts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_two_ranks_share_one_history(tmp_path: Path) -> None:
    """Rank 0 gets samples 0, 1, 2 right and rank 1 samples 4, 5, twice: both count all; 3 is never seen."""
    program, store = Path(__file__).with_name("two_ranks.py"), tmp_path / "store"
    subprocess.run([sys.executable, str(program), str(store)], timeout=120, check=True)
    printed = [json.loads(Path(f"{store}.{rank}").read_text()) for rank in range(2)]
    assert [one["all"] for one in printed] == [[2, 2, 2, 0, 2, 2]] * 2
    assert [one["alone"] for one in printed] == [[2, 2, 2, 0, 0, 0], [0, 0, 0, 0, 2, 2]]
