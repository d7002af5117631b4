"""Monte Carlo dropout: only dropout is switched on, results are seeded, and nothing else is touched."""

import pytest
import torch
from torch import nn

from tailormix.calibration import mc_dropout, predict


class Functional(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(x, 0.5, training=self.training)


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 2))


def test_only_dropout_is_switched_on_and_modes_come_back() -> None:
    model = network().train()
    model[1].eval()
    before = [module.training for module in model.modules()]
    with mc_dropout(model) as inside:
        assert inside is model
        assert [type(m).__name__ for m in model.modules() if m.training] == ["Dropout"]
    assert [module.training for module in model.modules()] == before
    with pytest.raises(KeyError), mc_dropout(model):
        raise KeyError
    assert [module.training for module in model.modules()] == before


def test_seeded_and_leaves_the_global_state_and_batchnorm_alone() -> None:
    model, x = network().train(), torch.randn(6, 4)
    mean = model[1].running_mean.clone()
    torch.manual_seed(3)
    state = torch.get_rng_state()
    first, again, other = (predict(model, x, samples=10, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(first.mean, again.mean)
    assert torch.equal(first.std, again.std)
    assert not torch.equal(first.mean, other.mean)
    assert not first.mean.requires_grad
    assert torch.equal(model[1].running_mean, mean)


def test_moments_are_those_of_the_passes() -> None:
    """Population form (ddof 0) over 50 passes by default."""
    model, x = network().eval(), torch.randn(5, 4)
    found = predict(model, x, seed=7)
    torch.manual_seed(7)
    with torch.no_grad(), mc_dropout(model):
        passes = torch.stack([model(x) for _ in range(50)]).double()
    assert torch.allclose(found.mean.double(), passes.mean(0), atol=1e-6)
    assert torch.allclose(found.std.double(), passes.std(0, correction=0), atol=1e-6)


def test_known_spread() -> None:
    """Dropout(p) on a constant 1 has mean 1 and variance p/(1 − p)."""
    found = predict(nn.Sequential(nn.Dropout(0.2)), torch.ones(2000, 1), samples=200)
    assert found.mean.mean() == pytest.approx(1, abs=0.01)
    assert found.std.square().mean() == pytest.approx(0.25, rel=0.05)


def test_batches_and_one_sample() -> None:
    model, x = network(), torch.randn(7, 4)
    assert predict(model, x, samples=2, batch_size=3).mean.shape == (7, 2)
    assert torch.equal(predict(model, x, samples=1).std, torch.zeros(7, 2))


class Last(nn.GRU):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x)[0][:, -1]


def encoder_layer() -> nn.Module:
    return nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3, batch_first=True)


@pytest.mark.parametrize(
    "model",
    [
        encoder_layer(),
        nn.TransformerEncoder(encoder_layer(), 2),
        Last(8, 6, num_layers=2, dropout=0.4, batch_first=True),
    ],
    ids=["layer", "encoder", "recurrent"],
)
def test_dropout_inside_other_modules_is_found(model: nn.Module) -> None:
    assert predict(model, torch.randn(3, 5, 8), samples=8).std.min() > 0


def test_models_without_dropout_and_bad_use() -> None:
    model = nn.Sequential(Functional())
    with pytest.raises(ValueError, match="model must have dropout"):
        predict(model, torch.ones(2, 3))
    assert predict(model, torch.ones(2, 30), also=(Functional,)).std.min() > 0
    with pytest.raises(ValueError, match="model must have dropout"), mc_dropout(nn.Dropout(0.0)):
        pass
    with pytest.raises(ValueError, match="samples must be >= 1, got 0"):
        predict(network(), torch.ones(1, 4), samples=0)
