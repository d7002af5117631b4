"""DDP on CPUs with gloo: two real processes under ``torchrun``, which do all that is asked here in one go."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sharing import made_once

PROGRAM = str(Path(__file__).with_name("ranks.py"))
METHODS = ("mixup", "regmixup", "rankmixup")
SETTINGS = ("epochs=2", "batch=255", "method=sk-mixup", "accelerator=cpu", "checkpoint_every=0")


def launch(out: Path) -> None:
    """Train on two ranks; each writes what it found into the folder."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [sys.executable, *torchrun, PROGRAM, str(out), ",".join(METHODS), *SETTINGS],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """The run folder, and what each rank found."""
    out = made_once(tmp_path_factory, "training-ranks", launch)
    return out / "run", [json.loads((out / f"rank-{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize("name", METHODS)
def test_one_and_two_processes_give_the_same_gradients(name: str, ranks: tuple[Path, list[Any]]) -> None:
    """One global batch, a plan that pairs within its halves, no BatchNorm; passes of n, 2n, n and 3n."""
    alone = runpy.run_path(PROGRAM)["gradients"](name)
    first, second = (rank["gradients"][name] for rank in ranks[1])
    assert first == second
    for one, two in zip(alone, first, strict=True):
        assert two == pytest.approx(one, abs=1e-6)
        assert max(map(abs, one)) > 1e-4


def test_a_batch_is_shared_out_unevenly_and_rows_differ(ranks: tuple[Path, list[Any]]) -> None:
    """255 rows over 2 ranks are 128 and 127."""
    found = [rank["first"] for rank in ranks[1]]
    assert [rows for rows, _ in found] == [128, 127]
    assert not set(found[0][1]) & set(found[1][1])


def test_ranks_agree_on_everything_but_time(ranks: tuple[Path, list[Any]]) -> None:
    path, found = ranks
    first, second = (rank["result"] for rank in found)
    for key in ("test", "validation", "temperature", "best_epoch", "selection"):
        assert first[key] == second[key]
    rows = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows] == [1, 2]
    assert json.loads((path / "result.json").read_text()) == first


@pytest.mark.parametrize("name", ["rankmixup", "mit-l", "regmixup"])
def test_objectives_of_several_passes_share_their_gradients(name: str, ranks: tuple[Path, list[Any]]) -> None:
    """Each rank has data and draws of its own; what DDP averages is the same everywhere, and not nothing."""
    first, second = (rank["several passes"][name] for rank in ranks[1])
    assert first == second
    assert max(abs(value) for values in first for value in values) > 1e-4


def test_a_stop_that_one_rank_hears_stops_all_and_the_run_goes_on_as_if_nothing_had_been(
    ranks: tuple[Path, list[Any]],
) -> None:
    for rank in ranks[1]:
        assert rank["stopped"]
        for key in ("test", "validation", "temperature", "best_epoch", "selection"):
            assert rank["resumed"][key] == rank["result"][key]
