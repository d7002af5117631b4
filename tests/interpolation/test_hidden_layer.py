"""Mixing at a hidden layer: what happens there, which layer is drawn, and layers that cannot serve."""

from __future__ import annotations

import pytest
import torch
from scipy import stats
from torch import nn

from nets import Staged, plan, seeded
from tailormix import ManifoldMixup
from tailormix.interpolation import HiddenLayer

X, Y = torch.randn(4, 4, generator=seeded()), torch.tensor([0, 1, 2, 0])
MIX = plan([1, 2, 3, 0], [0.9, 0.5, 0.2, 1.0])


def expected(model: Staged, after: str | None) -> torch.Tensor:
    """The loss, with the layers run one by one and the mixing written out."""

    def mixed(h: torch.Tensor) -> torch.Tensor:
        lam = MIX.lam.view(-1, 1)
        return lam * h + (1 - lam) * h[MIX.partner]

    h = mixed(X) if after is None else X
    for name in ("stem", "middle", "last", "head"):
        h = getattr(model, name)(h)
        h = mixed(h) if name == after else h
    return nn.functional.cross_entropy(h, mixed(nn.functional.one_hot(Y, 3).float()))


@pytest.mark.parametrize("layer", ["stem", "middle", "last", "head"])
def test_states_are_mixed_after_the_named_layer(layer: str) -> None:
    model = Staged()
    loss = ManifoldMixup(layers=(layer,), inputs=False).loss(model, X, Y, plan=MIX)
    torch.testing.assert_close(loss, expected(model, layer))
    loss.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_a_nested_layer_by_its_full_name() -> None:
    model = Staged()
    loss = ManifoldMixup(layers=("middle.0",), inputs=False).loss(model, X, Y, plan=MIX)
    assert not torch.isclose(loss, expected(model, "middle"))
    assert loss.isfinite()


def test_at_the_input_it_is_mixup() -> None:
    model = Staged()
    torch.testing.assert_close(ManifoldMixup(layers=()).loss(model, X, Y, plan=MIX), expected(model, None))


def test_places_are_equally_likely() -> None:
    """By default the input and the second and third stage, as published: after the first two blocks."""
    word, model = HiddenLayer(), Staged()
    draws = torch.rand(3000, generator=seeded(), dtype=torch.float64).tolist()
    places = [word.place(model, position) for position in draws]
    counts = [places.count(name) for name in (None, "middle", "last")]
    assert sum(counts) == 3000
    assert stats.chisquare(counts).pvalue > 1e-3


def test_each_batch_draws_its_own_place(generator: torch.Generator) -> None:
    model, method = Staged(), ManifoldMixup()
    losses = {method.loss(model, X, Y, plan=MIX, generator=generator).item() for _ in range(40)}
    places = [expected(model, after).item() for after in (None, "middle", "last")]
    assert sorted(losses) == pytest.approx(sorted(places), rel=1e-5)


def test_a_model_with_two_stages_uses_both() -> None:
    model = Staged()
    model.stages = ("stem", "last")
    word = HiddenLayer(inputs=False)
    assert {word.place(model, 0.0), word.place(model, 0.99)} == {"stem", "last"}


def test_a_model_without_stages_needs_names() -> None:
    model = nn.Sequential(nn.Linear(4, 3))
    with pytest.raises(ValueError, match=r"Sequential does not name its stages: pass layers="):
        ManifoldMixup().loss(model, X, Y)
    assert ManifoldMixup(layers=("0",)).loss(model, X, Y).isfinite()


def test_unknown_names_list_the_closest() -> None:
    with pytest.raises(ValueError, match=r"unknown layer 'midle'; did you mean 'middle'\? Known: stem, "):
        ManifoldMixup(layers=("midle",), inputs=False).loss(Staged(), X, Y)


def test_a_shared_layer_would_mix_twice() -> None:
    shared = nn.Linear(4, 4)
    model = nn.Sequential(shared, nn.ReLU(), shared, nn.Linear(4, 3))
    with pytest.raises(ValueError, match="layer '0' must run exactly once in a forward pass, but ran 2"):
        ManifoldMixup(layers=("0",), inputs=False).loss(model, X, Y)
    assert not shared._forward_hooks


def test_a_layer_that_never_runs() -> None:
    model = Staged()
    model.spare = nn.Linear(2, 2)
    with pytest.raises(ValueError, match=r"layer 'spare' must run exactly once .* ran 0 times"):
        ManifoldMixup(layers=("spare",), inputs=False).loss(model, X, Y)


def test_a_layer_with_other_rows_or_no_tensor() -> None:
    merged = nn.Sequential(nn.Flatten(0), nn.Linear(16, 12), nn.Unflatten(0, (4, 3)))
    with pytest.raises(ValueError, match=r"layer '1' must see 4 rows, one a sample, but saw shape \(12,\)"):
        ManifoldMixup(layers=("1",), inputs=False).loss(merged, X, Y)
    with pytest.raises(TypeError, match="layer '0' must return a tensor to be mixed, got tuple"):
        ManifoldMixup(layers=("0",), inputs=False).loss(nn.Sequential(nn.LSTM(4, 3)), X, Y)


def test_bad_settings() -> None:
    with pytest.raises(TypeError, match="layers must be a tuple of names, got the string 'stem'"):
        ManifoldMixup(layers="stem")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="layers must name at least one layer where inputs=False"):
        ManifoldMixup(layers=(), inputs=False)
    assert ManifoldMixup(layers=["stem"]) == ManifoldMixup(layers=("stem",))  # type: ignore[arg-type]
