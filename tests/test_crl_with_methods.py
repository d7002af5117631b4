"""CRL's history with the methods: where there are clean labels, and nowhere else."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from nets import Staged, seeded
from tailormix import METHODS, build_method
from tailormix.losses import CRL

X, Y = torch.randn(6, 4, generator=seeded()), torch.arange(6) % 3
IDS = torch.tensor([9, 3, 5, 0, 1, 7])
CLEAN = ("erm", "rankmixup", "rankmixup-mrl")
# Refused for other reasons, without class labels or without images.
ELSEWHERE = [name for name in METHODS if name not in CLEAN and name not in ("c-mixup", "cutmix", "sk-cutmix")]


def state(model: nn.Module, criterion: nn.Module) -> dict[str, torch.Tensor]:
    both = nn.ModuleDict({"model": model, "criterion": criterion})
    return {name: value.clone() for name, value in both.state_dict().items()}


@pytest.mark.parametrize("name", CLEAN)
def test_correctness_of_the_clean_batch_is_counted_once(name: str) -> None:
    model, criterion = Staged(), CRL(size=10)
    right = model(X).argmax(1) == Y
    loss = build_method(name).loss(model, X, Y, criterion, ids=IDS)
    expected = torch.zeros(10, dtype=torch.int32)
    expected[IDS] = right.to(torch.int32)
    assert criterion.counts.equal(expected)
    loss.backward()
    assert model.head.weight.grad.any()


def test_plain_training_with_history_by_definition() -> None:
    model, criterion = Staged(), CRL(size=10)
    loss = build_method("erm").loss(model, X, Y, criterion, ids=IDS)
    torch.testing.assert_close(loss, CRL(size=10)(model(X), Y, IDS).mean())


@pytest.mark.parametrize("name", ELSEWHERE)
def test_refused_elsewhere_before_anything_changes(name: str) -> None:
    model, criterion = Staged(norm=nn.BatchNorm1d), CRL(size=10)
    before = state(model, criterion)
    settings = {"counts": (1, 1, 1)} if name == "remix" else {}
    with pytest.raises(ValueError, match=r"CRL follows which clean samples.*use it with erm or rankmixup"):
        build_method(name, **settings).loss(model, X, Y, criterion, ids=IDS)
    torch.testing.assert_close(state(model, criterion), before, rtol=0, atol=0)
    assert not model.calls


@pytest.mark.parametrize("name", CLEAN)
def test_without_ids_nothing_is_run(name: str) -> None:
    model, criterion = Staged(norm=nn.BatchNorm1d), CRL(size=10)
    with pytest.raises(ValueError, match="CRL needs ids="):
        build_method(name).loss(model, X, Y, criterion)
    assert not model.calls
