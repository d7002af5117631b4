"""Lightning and Hugging Face's trainer under DDP: two real processes under ``torchrun``."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import transformers

from integrations import ranks as program
from integrations.tiny_models import SGD, arguments, bert, sentences
from sharing import made_once, torchrun

RUNS = ("callback", "sk-mixup", "rankmixup", "text, erm", "text, sk-mixup", "text, sk-regmixup")


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each rank found."""
    path = Path(program.__file__)
    out = made_once(tmp_path_factory, "integration-ranks", lambda to: torchrun(path, 2, str(to)))
    return [json.loads((out / f"rank-{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize("run", RUNS)
def test_ranks_end_with_the_same_weights(run: str, ranks: list[dict[str, Any]]) -> None:
    first, second = (rank[run] for rank in ranks)
    assert first == second
    assert all(abs(value) < 100 for value in first)


def test_ranks_draw_apart_and_take_distances_over_all(ranks: list[dict[str, Any]]) -> None:
    """Two steps of Lightning with 4 rows on each rank, then three of transformers with 2."""
    first, second = (rank["seen"] for rank in ranks)
    assert first["all ranks"] == second["all ranks"] == [True] * 5
    assert [len(lam) for lam in first["lam"]] == [4] * 2 + [2] * 3
    assert not set(chain(*first["lam"])) & set(chain(*second["lam"]))


def test_two_rows_on_two_ranks_are_four_on_one(ranks: list[dict[str, Any]], tmp_path: Path) -> None:
    """Against transformers' own trainer in one process: the losses of the ranks are weighed right."""
    start, settings = program.flat(bert()), arguments(tmp_path, **SGD)
    alone = transformers.Trainer(bert(), settings, train_dataset=sentences())
    alone.train()
    assert ranks[0]["text, erm"] == pytest.approx(program.flat(alone.model), rel=1e-3, abs=1e-5)
    assert ranks[0]["text, erm"] != pytest.approx(start, rel=1e-3, abs=1e-3)
