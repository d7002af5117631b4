"""A global batch that three ranks cannot share evenly: three real processes under ``torchrun``, with gloo."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from tailormix.experiments import read
from tailormix.experiments.running import run_experiment
from training.ranks import gradients
from training.three_ranks import RANKS, ROWS

PROGRAM = Path(__file__).with_name("three_ranks.py")
METHODS = ("erm", "mixup")
SETTINGS = ("epochs=1", f"batch={ROWS}", "method=erm", "optimiser=sgd", "optimiser.lr=1.0", "accelerator=cpu")


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """The run folder, and what each rank found."""
    out = tmp_path_factory.mktemp("three")
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS)]
    paths = os.pathsep.join([str(PROGRAM.parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *torchrun, str(PROGRAM), str(out), ",".join(METHODS), *SETTINGS],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths.rstrip(os.pathsep)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out / "run", [json.loads((out / f"rank-{rank}.json").read_text()) for rank in range(RANKS)]


@pytest.mark.parametrize("name", METHODS)
def test_one_and_three_processes_give_the_same_gradients(name: str, ranks: tuple[Path, list[Any]]) -> None:
    """256 rows, a plan that pairs within shards of 86, 85 and 85, no BatchNorm."""
    alone = gradients(name, ROWS, RANKS)
    first, *others = (rank["gradients"][name] for rank in ranks[1])
    assert all(other == first for other in others)
    for one, three in zip(alone, first, strict=True):
        assert three == pytest.approx(one, rel=1e-4, abs=1e-7)
        assert max(map(abs, one)) > 1e-4


def test_rows_are_shared_out_unevenly_and_none_twice(ranks: tuple[Path, list[Any]]) -> None:
    found = [rank["first"] for rank in ranks[1]]
    assert [rows for rows, _ in found] == [86, 85, 85]
    seen = [tuple(values[i : i + 2]) for _, values in found for i in range(0, len(values), 2)]
    assert len(set(seen)) == ROWS


def test_a_run_on_three_ranks_ends_where_one_process_ends(
    ranks: tuple[Path, list[Any]], tmp_path: Path
) -> None:
    """300 rows are two steps, of 256 (86, 85, 85) and of 44 (15, 15, 14); plain SGD shows wrong weights."""
    result = run_experiment(read("moons", SETTINGS), tmp_path)
    path, (first, *_) = ranks
    alone, three = (load_file(folder / result["best weights"]) for folder in (tmp_path, path))
    assert first["result"]["best weights"] == result["best weights"]
    assert alone.keys() == three.keys()
    for name, weights in alone.items():
        assert three[name] == pytest.approx(weights, abs=1e-5)
    assert first["result"]["test"]["before"] == pytest.approx(result["test"]["before"], abs=1e-4)
