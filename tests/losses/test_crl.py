"""CRL: the ranking term, the history and its order of events; two ranks; with the methods."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from nets import Staged, seeded
from tailormix import METHODS, build_method
from tailormix.losses import CRL

# confidences 0.75, 0.9 and 0.6, all predicting class 1
LOGITS = torch.tensor([[0.0, math.log(3)], [0.0, math.log(9)], [0.0, math.log(1.5)]], dtype=torch.float64)
Y = torch.tensor([1, 0, 1])
IDS = torch.tensor([3, 0, 2])


def history(counts: list[int], epochs: int) -> CRL:
    """Make a criterion in evaluation mode, so that calls leave the history alone."""
    loss = CRL(size=len(counts))
    loss.counts.copy_(torch.tensor(counts))
    loss.epochs.fill_(epochs)
    return loss.eval()


def ranking(loss: CRL, logits: torch.Tensor, y: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    return loss(logits, y, ids) - functional.cross_entropy(logits, y, reduction="none")


def test_by_hand() -> None:
    """Counts (1, 2, 5, 3) after 5 epochs: min 1, max_correct 5, k = (0, ¼, 1, ½).

    The batch has k = (½, 0, 1) and c = (0.75, 0.9, 0.6). Pair 1-2: Δk = ½, t = 1: max(0, 0.15 + ½) = 0.65.
    Pair 2-3: Δk = -1, t = -1: max(0, 0.3 + 1) = 1.3. Pair 3-1: Δk = ½, t = 1: max(0, 0.15 + ½) = 0.65.
    """
    expected = torch.tensor([0.65, 1.3, 0.65], dtype=torch.float64)
    one, three = history([1, 2, 5, 3], 5), CRL(size=4, weight=3.0).eval()
    torch.testing.assert_close(ranking(one, LOGITS, Y, IDS), expected)
    three.load_state_dict(one.state_dict())
    torch.testing.assert_close(ranking(three, LOGITS, Y, IDS), 3 * expected)


def test_right_order_by_more_than_asked_costs_nothing() -> None:
    """Counts (10, 9) of 10: k = (1, 0). With min 0 from a third sample k = (1, 0.9): Δk = 0.1 < Δc = 0.15."""
    loss = history([10, 9, 0], epochs=10)
    logits, ids = LOGITS[[1, 0]], torch.tensor([0, 1])
    torch.testing.assert_close(ranking(loss, logits, Y[:2], ids), torch.zeros(2, dtype=torch.float64))


@given(st.lists(st.integers(0, 7), min_size=2, max_size=8), st.integers(0, 1000))
def test_against_torch_margin_ranking_loss(counts: list[int], seed: int) -> None:
    """The margin enters by moving the second confidence by |Δk|/t, as published."""
    n = len(counts)
    logits = torch.randn(n, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    y, ids = torch.zeros(n, dtype=torch.long), torch.arange(n)
    raw = torch.tensor(counts, dtype=torch.float64)
    k = (raw - raw.min()) / max(8 - raw.min(), 1)
    c, gap = logits.softmax(1).amax(1), k - k.roll(-1)
    t = gap.sign()
    moved = c.roll(-1) + gap.abs() / torch.where(t == 0, torch.ones_like(t), t)
    expected = functional.margin_ranking_loss(c, moved, t, reduction="none")
    torch.testing.assert_close(ranking(history(counts, epochs=8), logits, y, ids), expected)


def test_max_correct_is_one_for_two_epochs_then_grows() -> None:
    """Sample 0 (confidence 0.75) is always right, sample 1 (0.9) never: k = 1 and 0 from the second epoch on.

    With max_correct = 1, 1, 2, 3, ... sample 0 enters epoch e + 1 with count e and k = e / e. Both terms are
    then 1 + 0.15; in the first epoch there is no history and they are 0.
    """
    loss = CRL(size=3)
    ids, y = torch.tensor([0, 1]), torch.tensor([0, 1])
    logits = torch.tensor([[math.log(3), 0.0], [math.log(9), 0.0]], dtype=torch.float64)
    seen = []
    for _ in range(5):
        seen.append(ranking(loss, logits, y, ids).tolist())
        loss.end_epoch()
    assert loss.counts.tolist() == [5, 0, 0]
    assert seen[0] == pytest.approx([0.0, 0.0])
    assert all(epoch == pytest.approx([1.15, 1.15]) for epoch in seen[1:])


def test_level_history_beyond_the_epochs_and_one_sample() -> None:
    """Everybody right in each of three epochs: min = max_correct, and 0/0 must not appear.

    Counts beyond max_correct (a sampler with replacement): k = 1, so the term is at most 1 + Δc.
    """
    zero = torch.zeros(3, dtype=torch.float64)
    torch.testing.assert_close(ranking(history([3, 3, 3, 3], 3), LOGITS, Y, IDS), zero)
    terms = ranking(history([0, 9], epochs=3), LOGITS[:2], Y[:2], torch.tensor([0, 1]))
    torch.testing.assert_close(terms, torch.tensor([0.85, 0.85], dtype=torch.float64))
    assert ranking(history([0, 1], 1), LOGITS[:1], Y[:1], IDS[1:2]).item() == 0.0


def test_history_counts_right_predictions_in_training_mode_only() -> None:
    """Predictions are all 1: samples 3 and 2 (labels 1) are right, 0 is wrong; drawn twice counts twice."""
    loss = CRL(size=4)
    loss(LOGITS, Y, IDS)
    assert loss.counts.tolist() == [0, 0, 1, 1]
    loss.eval()(LOGITS, Y, IDS)
    assert loss.counts.tolist() == [0, 0, 1, 1]
    loss.train()(LOGITS, torch.tensor([1, 1, 1]), torch.tensor([2, 2, 0]))
    assert loss.counts.tolist() == [1, 0, 3, 1]


def test_loss_is_computed_from_the_history_before_the_batch() -> None:
    fresh, used = CRL(size=4), CRL(size=4).eval()
    assert torch.equal(fresh(LOGITS, Y, IDS), used(LOGITS, Y, IDS))
    assert not torch.equal(fresh(LOGITS, Y, IDS), used(LOGITS, Y, IDS))


@pytest.mark.parametrize(
    ("logits", "targets", "ids", "message"),
    [
        (LOGITS, torch.eye(2)[Y], IDS, r"targets must be class indices .* for CRL, got \(3, 2\)"),
        (LOGITS, torch.tensor([0, 1, 2]), IDS, r"targets must lie in 0\.\.1, got 0\.\.2"),
        (LOGITS, Y, torch.tensor([0, 1, 4]), r"ids must lie in 0\.\.3, got 0\.\.4"),
        (LOGITS, Y, torch.tensor([0, -1, 3]), r"ids must lie in 0\.\.3, got -1\.\.3"),
        (LOGITS, Y, IDS[:2], r"ids must have shape \(3,\), got \(2,\)"),
        (LOGITS, Y, IDS.double(), "ids of shape \\(n,\\) must be whole numbers, got torch.float64"),
        (LOGITS.to("meta"), Y, IDS, "logits must be on the criterion's device cpu, got meta"),
    ],
)
def test_a_call_that_fails_changes_nothing(logits, targets, ids, message: str) -> None:
    loss = CRL(size=4)
    loss(LOGITS, Y, IDS)
    before = loss.counts.clone()
    with pytest.raises((ValueError, TypeError), match=message):
        loss(logits, targets, ids)
    assert torch.equal(loss.counts, before)


def test_state_is_saved_and_restored() -> None:
    loss = CRL(size=4)
    for _ in range(3):
        loss(LOGITS, Y, IDS)
        loss.end_epoch()
    copy = CRL(size=4)
    copy.load_state_dict(loss.state_dict())
    assert copy.counts.tolist() == [0, 0, 3, 3]
    assert copy.epochs.item() == 3
    assert torch.equal(copy(LOGITS, Y, IDS), loss(LOGITS, Y, IDS))
    with pytest.raises(RuntimeError, match="size mismatch for counts"):
        CRL(size=5).load_state_dict(loss.state_dict())


def test_two_ranks_share_one_history(tmp_path: Path) -> None:
    """DDP's broadcast of buffers must not erase the counts of a rank.

    Rank 0 gets samples 0, 1, 2 right and rank 1 samples 4, 5, twice: both count all; 3 is never seen.
    """
    program, store = Path(__file__).with_name("two_ranks.py"), tmp_path / "store"
    subprocess.run([sys.executable, str(program), str(store)], timeout=120, check=True)
    printed = [json.loads(Path(f"{store}.{rank}").read_text()) for rank in range(2)]
    assert [one["all"] for one in printed] == [[2, 2, 2, 0, 2, 2]] * 2
    assert [one["alone"] for one in printed] == [[2, 2, 2, 0, 0, 0], [0, 0, 0, 0, 2, 2]]


# A batch of six samples out of ten, for whole training steps.
X, LABELS = torch.randn(6, 4, generator=seeded()), torch.arange(6) % 3
SIX = torch.tensor([9, 3, 5, 0, 1, 7])
CLEAN = ("erm", "rankmixup", "rankmixup-mrl")
# Refused for other reasons, without class labels or without images.
ELSEWHERE = [name for name in METHODS if name not in CLEAN and name not in ("c-mixup", "cutmix", "sk-cutmix")]


def state(model: nn.Module, criterion: nn.Module) -> dict[str, torch.Tensor]:
    both = nn.ModuleDict({"model": model, "criterion": criterion})
    return {name: value.clone() for name, value in both.state_dict().items()}


@pytest.mark.parametrize("name", CLEAN)
def test_correctness_of_the_clean_batch_is_counted_once(name: str) -> None:
    model, criterion = Staged(), CRL(size=10)
    right = model(X).argmax(1) == LABELS
    loss = build_method(name).loss(model, X, LABELS, criterion, ids=SIX)
    expected = torch.zeros(10, dtype=torch.int32)
    expected[SIX] = right.to(torch.int32)
    assert criterion.counts.equal(expected)
    if name == "erm":
        torch.testing.assert_close(loss, CRL(size=10)(model(X), LABELS, SIX).mean())
    loss.backward()
    assert model.head.weight.grad.any()


@pytest.mark.parametrize("name", ELSEWHERE)
def test_refused_elsewhere_before_anything_changes(name: str) -> None:
    model, criterion = Staged(norm=nn.BatchNorm1d), CRL(size=10)
    before = state(model, criterion)
    settings = {"counts": (1, 1, 1)} if name == "remix" else {}
    with pytest.raises(ValueError, match=r"CRL follows which clean samples.*use it with erm or rankmixup"):
        build_method(name, **settings).loss(model, X, LABELS, criterion, ids=SIX)
    torch.testing.assert_close(state(model, criterion), before, rtol=0, atol=0)
    assert not model.calls


@pytest.mark.parametrize("name", CLEAN)
def test_without_ids_nothing_is_run(name: str) -> None:
    model, criterion = Staged(norm=nn.BatchNorm1d), CRL(size=10)
    with pytest.raises(ValueError, match="CRL needs ids="):
        build_method(name).loss(model, X, LABELS, criterion)
    assert not model.calls
