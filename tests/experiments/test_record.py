"""The record of a run: on which ranks it may be resumed."""

from pathlib import Path
from typing import Any

import pytest

from tailormix.experiments.parallel import ENGINE_VARIABLE
from tailormix.experiments.record import check_execution
from tailormix.training import RunError, run_folder

ALONE = {"ranks": 1, "batch_per_rank": [151], "engine": "local"}
THREE = {"ranks": 3, "batch_per_rank": [51, 50, 50], "engine": "torchrun"}


def begun(path: Path, **record: Any) -> Path:
    """A folder with a record and a checkpoint."""
    (path / run_folder.CHECKPOINTS).mkdir(exist_ok=True)
    (path / run_folder.CHECKPOINTS / "last.safetensors").touch()
    run_folder.write_json(path / run_folder.EXPERIMENT, record)
    return path


def test_another_number_of_ranks_is_refused_or_remembered(tmp_path: Path) -> None:
    with pytest.raises(
        RunError, match=r"was begun by 3 ranks, this is 1 process.*--allow-other-ranks.*--force"
    ):
        check_execution(begun(tmp_path, execution=THREE), 1, 151, allow_other_ranks=False)
    once = check_execution(tmp_path, 1, 151, allow_other_ranks=True)
    assert once == {**ALONE, "ranks_before": [3]}
    assert check_execution(begun(tmp_path, execution=once), 1, 151, allow_other_ranks=False) == once
    assert check_execution(tmp_path, 3, 151, allow_other_ranks=True) == {**THREE, "ranks_before": [3, 1]}


def test_a_run_that_has_not_begun_may_have_any_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_folder.write_json(tmp_path / run_folder.EXPERIMENT, {"execution": THREE})
    assert check_execution(tmp_path, 1, 151, allow_other_ranks=False) == ALONE
    monkeypatch.setenv(ENGINE_VARIABLE, "dask")
    found = check_execution(
        begun(tmp_path), 1, 151, allow_other_ranks=False
    )  # an old record without a number
    assert found == {**ALONE, "engine": "dask"}
