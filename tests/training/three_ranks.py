"""A program for ``torchrun``: a global batch of 256 rows over three ranks, as gradients and as a run.

``three_ranks.py OUT METHOD,METHOD... SETTING...`` writes what each rank found to ``OUT/rank-N.json``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import torch

from training.ranks import gradients, train

ROWS, RANKS = 256, 3


def main(out: Path, methods: list[str], settings: list[str]) -> None:
    """Write this rank's findings."""
    torch.set_num_threads(1)
    found = {name: gradients(name, ROWS, RANKS) for name in methods}
    report = {"gradients": found, **train(out / "run", settings)}
    (out / f"rank-{os.environ['RANK']}.json").write_text(json.dumps(report))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2].split(","), sys.argv[3:])
