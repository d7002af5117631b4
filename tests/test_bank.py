"""The embedding bank."""

import pytest
import torch
from torch import nn

from tailormix import SKMixup
from tailormix.embeddings import EmbeddingBank, embed


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 4))


def batches(x, size=4):
    return [(ids, x[ids]) for ids in torch.arange(len(x)).split(size)]


def test_a_bank_holds_the_embeddings_of_every_sample():
    model, x = net(), torch.rand(10, 3)
    bank = EmbeddingBank(10)
    bank.refresh(model, batches(x))
    ids = torch.tensor([7, 0, 7])
    torch.testing.assert_close(bank[ids], embed(model, x[ids]), atol=1e-3, rtol=1e-3)  # half precision
    assert bank[ids].dtype == torch.float32


def test_a_bank_changes_only_where_it_is_refreshed():
    model, x = net(), torch.rand(10, 3)
    bank = EmbeddingBank(10, every=3)
    bank.refresh(model, batches(x))
    before = bank[torch.arange(10)]
    with torch.no_grad():
        model[0].weight.mul_(2)
    assert torch.equal(bank[torch.arange(10)], before)
    bank.refresh(model, batches(x))
    assert not torch.equal(bank[torch.arange(10)], before)
    assert [epoch for epoch in range(8) if bank.due(epoch)] == [0, 3, 6]


def test_a_step_with_a_bank_passes_the_model_once():
    model, x, y = net(), torch.rand(8, 3), torch.arange(8) % 4
    bank = EmbeddingBank(8)
    bank.refresh(model, batches(x))
    passes = []
    model.register_forward_hook(lambda *_: passes.append(1))
    SKMixup().loss(model, x, y, embeddings=bank[torch.arange(8)])
    assert len(passes) == 1


def test_the_plan_of_a_fresh_bank_is_the_exact_one():
    model, x, y = net(), torch.rand(64, 3), torch.arange(64) % 4
    bank, mixup = EmbeddingBank(64), SKMixup(num_classes=4)
    bank.refresh(model, batches(x))
    plans = [
        mixup.plan(x, y, embeddings=points, generator=torch.Generator().manual_seed(0))
        for points in (embed(model, x), bank[torch.arange(64)])
    ]
    assert torch.equal(plans[0].partner, plans[1].partner)
    torch.testing.assert_close(plans[0].lam, plans[1].lam, atol=0.02, rtol=0)


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_bank_can_be_saved_and_loaded(tmp_path, on_disk):
    model, x = net(), torch.rand(6, 3)
    bank = EmbeddingBank(6, file=tmp_path / "bank.bin" if on_disk else None)
    assert bank.state_dict() == {}
    bank.refresh(model, batches(x))
    other = EmbeddingBank(6, file=tmp_path / "other.bin" if on_disk else None)
    other.load_state_dict(bank.state_dict())
    assert torch.equal(other[torch.arange(6)], bank[torch.arange(6)])
    if on_disk:
        assert (tmp_path / "other.bin").stat().st_size == 6 * 5 * 2  # n x d numbers of two bytes


def test_embeddings_beyond_half_precision_are_scaled_together():
    model, x = nn.Sequential(nn.Linear(2, 2)), torch.tensor([[1e6, 0.0], [0.0, 5e5], [0.0, 0.0]])
    bank = EmbeddingBank(3)
    bank.refresh(model, [(torch.arange(3), x)])
    found = bank[torch.arange(3)]
    torch.testing.assert_close(found / found[0, 0], x / 1e6, atol=1e-3, rtol=1e-3)


def test_wrong_ids_are_named():
    model, x = net(), torch.rand(4, 3)
    bank = EmbeddingBank(4)
    with pytest.raises(RuntimeError, match="call refresh before the first step"):
        bank[torch.tensor([0])]
    with pytest.raises(ValueError, match="every id from 0 to 3, but 2 is missing"):
        bank.refresh(model, [(torch.tensor([0, 1, 3]), x[[0, 1, 3]])])
    with pytest.raises(ValueError, match=r"ids must lie in 0\.\.3, got 0\.\.4"):
        bank.refresh(model, [(torch.tensor([0, 4]), x[:2])])
    with pytest.raises(ValueError, match="no batch"):
        bank.refresh(model, [])
    bank.refresh(model, batches(x))
    with pytest.raises(ValueError, match=r"got -1\.\.2"):
        bank[torch.tensor([2, -1])]
    with pytest.raises(ValueError, match="whole numbers"):
        bank[torch.tensor([0.5])]
    with pytest.raises(ValueError, match="must hold 5 samples"):
        EmbeddingBank(5).load_state_dict(bank.state_dict())
    with pytest.raises(ValueError, match="finite"):
        bank.refresh(model, [(torch.arange(4), torch.full((4, 3), float("nan")))])
