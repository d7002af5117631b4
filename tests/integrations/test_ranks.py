"""Lightning and Hugging Face's trainer under DDP: two real processes under ``torchrun``."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import transformers

from sharing import made_once

PROGRAM = str(Path(__file__).with_name("ranks.py"))
RUNS = ("callback", "sk-mixup", "rankmixup", "text, erm", "text, sk-mixup", "text, sk-regmixup")


def launch(out: Path) -> None:
    """Train on two ranks; each writes what it found into the folder."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [sys.executable, *torchrun, PROGRAM, str(out)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each rank found."""
    out = made_once(tmp_path_factory, "integration-ranks", launch)
    return [json.loads((out / f"rank-{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize("run", RUNS)
def test_ranks_end_with_the_same_weights(run: str, ranks: list[dict[str, Any]]) -> None:
    first, second = (rank[run] for rank in ranks)
    assert first == second
    assert all(abs(value) < 100 for value in first)


def test_ranks_draw_apart_and_take_distances_over_all(ranks: list[dict[str, Any]]) -> None:
    """Two steps of Lightning with 4 rows on each rank, then four of transformers with 2."""
    first, second = (rank["seen"] for rank in ranks)
    assert first["all ranks"] == second["all ranks"] == [True] * 2 + [True] * 4
    assert [len(lam) for lam in first["lam"]] == [4] * 2 + [2] * 4
    assert not {value for lam in first["lam"] for value in lam} & {
        value for lam in second["lam"] for value in lam
    }


def test_two_rows_on_two_ranks_are_four_on_one(ranks: list[dict[str, Any]], tmp_path: Path) -> None:
    """Against transformers' own trainer in one process: the losses of the ranks are weighed right."""
    program = runpy.run_path(PROGRAM)
    settings = program["text_arguments"](tmp_path, 4)
    alone = transformers.Trainer(program["text_model"](), settings, train_dataset=program["sentences"]())
    alone.train()
    assert ranks[0]["text, erm"] == pytest.approx(program["flat"](alone.model), rel=1e-3, abs=1e-5)
    assert ranks[0]["text, erm"] != pytest.approx(
        program["flat"](program["text_model"]()), rel=1e-3, abs=1e-3
    )
