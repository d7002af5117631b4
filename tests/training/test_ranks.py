"""DDP on CPUs with gloo: three real processes under ``torchrun``, which cannot share 256 rows evenly."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from sharing import made_once, torchrun
from tailormix.experiments import read
from tailormix.experiments.running import run_experiment
from tailormix.training import RunError
from training import ranks as program

SAME = ("test", "validation", "temperature", "best_epoch", "selection")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the ranks have filled."""
    path = Path(program.__file__)
    return made_once(tmp_path_factory, "training-ranks", lambda to: torchrun(path, program.RANKS, str(to)))


@pytest.fixture(scope="module")
def ranks(out: Path) -> list[dict[str, Any]]:
    """What each rank found."""
    return [json.loads((out / f"rank-{rank}.json").read_text()) for rank in range(program.RANKS)]


@pytest.mark.parametrize("name", program.METHODS)
def test_one_and_three_processes_give_the_same_gradients(name: str, ranks: list[dict[str, Any]]) -> None:
    """One global batch, a plan that pairs within shards of 86, 85 and 85 rows; passes of n, 2n, n and 3n."""
    alone, (first, *others) = program.gradients(name), (rank["gradients"][name] for rank in ranks)
    assert all(other == first for other in others)
    assert first == pytest.approx(alone, abs=1e-6)
    assert max(map(abs, alone)) > 1e-4


@pytest.mark.parametrize("name", program.SEVERAL_PASSES)
def test_objectives_of_several_passes_share_their_gradients(name: str, ranks: list[dict[str, Any]]) -> None:
    """Each rank has data and draws of its own; what DDP averages is the same everywhere, and not nothing."""
    first, *others = (rank["several passes"][name] for rank in ranks)
    assert all(other == first for other in others)
    assert max(map(abs, first)) > 1e-4


def test_rows_are_shared_out_unevenly_and_none_twice(ranks: list[dict[str, Any]]) -> None:
    assert [len(rank["first"]) for rank in ranks] == [86, 85, 85]
    assert len({tuple(row) for rank in ranks for row in rank["first"]}) == program.ROWS


def test_a_run_on_three_ranks_ends_where_one_process_ends(
    out: Path, ranks: list[dict[str, Any]], tmp_path: Path
) -> None:
    """300 rows are two steps, of 256 (86, 85, 85) and of 44 (15, 15, 14); plain SGD shows wrong weights."""
    result, found = run_experiment(read("moons", program.PLAIN), tmp_path), ranks[0]["result"]
    alone, three = (load_file(folder / result["best weights"]) for folder in (tmp_path, out / "plain"))
    assert found["best weights"] == result["best weights"]
    assert alone.keys() == three.keys()
    for name, weights in alone.items():
        assert three[name] == pytest.approx(weights, abs=1e-5)
    assert found["test"]["before"] == pytest.approx(result["test"]["before"], abs=1e-4)


def test_ranks_share_a_bank_and_the_strength(out: Path, ranks: list[dict[str, Any]]) -> None:
    first, *others = (rank["bank"] for rank in ranks)
    assert all(first[key] == other[key] for key in (*SAME, "strength") for other in others)
    rows = load_file(out / "bank" / "checkpoints" / "last.safetensors")["bank.embeddings"]
    assert rows.shape == (300, 20)
    assert (rows != 0).any(1).all()


def test_ranks_agree_on_everything_but_time(out: Path, ranks: list[dict[str, Any]]) -> None:
    first, *others = (rank["whole"] for rank in ranks)
    assert all(first[key] == other[key] for key in SAME for other in others)
    rows = [json.loads(line) for line in (out / "whole" / "metrics.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows] == [1, 2]
    assert json.loads((out / "whole" / "result.json").read_text()) == first


def test_a_stop_that_one_rank_hears_stops_all_and_the_run_ends_as_if_nothing_had_been(
    ranks: list[dict[str, Any]],
) -> None:
    for rank in ranks:
        assert rank["stopped"] == [True, True]
        assert all(rank["resumed"][key] == rank["whole"][key] for key in SAME)


def test_another_number_of_ranks_resumes_only_if_that_is_allowed(out: Path, tmp_path: Path) -> None:
    experiment, path = read("moons", program.MIXED), shutil.copytree(out / "left", tmp_path / "left")
    with pytest.raises(RunError, match=r"was begun by 3 ranks, this is 1 process.*--allow-other-ranks"):
        run_experiment(experiment, path)
    result = run_experiment(experiment, path, allow_other_ranks=True)
    alone = {"ranks": 1, "batch_per_rank": [program.ROWS], "engine": "local"}
    assert result["execution"] == {**alone, "ranks_before": [program.RANKS]}
    whole = json.loads((out / "whole" / "result.json").read_text())
    assert whole["execution"] == {"ranks": 3, "batch_per_rank": [86, 85, 85], "engine": "torchrun"}
