"""MIT: decoupling by hand, at the logits and at the stages, and BatchNorm by groups."""

from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import cross_entropy

from nets import GivenPairs, Recorder, Square, Staged, seeded
from tailormix import MITA, MITL, Method, Mixup
from tailormix import interpolation as i
from tailormix import objectives as o
from tailormix import pairs as p
from tailormix.objectives.decoupling import decouple, grouped_batch_norm, mix_twice

X, Y = torch.randn(6, 4, generator=seeded()), torch.tensor([0, 1, 2, 0, 1, 2])
HALVES = torch.tensor([0.75, 0.25])


class Swap:
    """The two samples of a batch with one another."""

    source, needs_embeddings = "batch", False

    def __call__(self, _batch: object, _draws: object) -> torch.Tensor:
        return torch.tensor([1, 0])


def test_decoupling_by_hand() -> None:
    """Two mixtures of 4 and 8 with λ = ¾, ¼ are 5 and 7; a model that squares makes 25 and 49 of them.

    â = (¾·25 - ¼·49)/½ = (18.75 - 12.25)/½ = 13 and b̂ = (¾·49 - ¼·25)/½ = (36.75 - 6.25)/½ = 61.
    """
    mixtures = mix_twice(torch.tensor([4.0]), torch.tensor([8.0]), HALVES)
    assert [m.item() for m in mixtures] == [5.0, 7.0]
    a, b = decouple(mixtures[0].square(), mixtures[1].square(), HALVES)
    assert (a.item(), b.item()) == (13.0, 61.0)


def test_logits_form_by_hand() -> None:
    """MIT-L with that model: rows (13, 61 for the partner) and, with 8 and 4 swapped, (61, 13)."""
    criterion = Recorder()
    method = Method(Swap(), GivenPairs((0.75, 0.25)), i.Linear(), o.DecoupledLogits())
    x, y = torch.tensor([[4.0, 4.0], [8.0, 8.0]]), torch.tensor([0, 1])
    loss = method.loss(Square(), x, y, criterion)
    (mine, labels), (theirs, others) = criterion.seen
    assert mine.tolist() == [[13.0, 13.0], [61.0, 61.0]]
    assert theirs.tolist() == [[61.0, 61.0], [13.0, 13.0]]
    assert (labels.tolist(), others.tolist()) == ([0, 1], [1, 0])
    assert loss.item() == 0.5 * (37 + 37)


def test_stages_form_by_hand() -> None:
    """MIT-A with two squares: after the first, 13 and 61 as above, mixed again with λ = 1, ½: 13 and 37.

    The second square makes 169 and 1369: â = (½·169 - 0)/½ = 169, b̂ = (1369 - ½·169)/½ = 2569.
    The known slip mixes the second stream with itself, 61 in place of 37, and would give b̂ = 7273.
    Swapped, from 61 and 13: 61 and 37, squares 3721 and 1369, â = 3721, b̂ = (1369 - 1860.5)/½ = -983.
    """
    criterion = Recorder()
    method = Method(Swap(), GivenPairs((0.75, 0.25), (1.0, 0.5)), i.Linear(), o.DecoupledStages(("0",)))
    x = torch.tensor([[4.0, 4.0], [8.0, 8.0]])
    method.loss(nn.Sequential(Square(), Square()), x, torch.tensor([0, 1]), criterion)
    (mine, _), (theirs, _) = criterion.seen
    assert mine[:, 0].tolist() == [169.0, 3721.0]
    assert theirs[:, 0].tolist() == [2569.0, -983.0]


@given(
    st.floats(-100, 100),
    st.floats(-100, 100),
    st.floats(0.5, 1),
    st.floats(0, 0.4),
)
def test_decoupling_inverts_mixing(a: float, b: float, first: float, second: float) -> None:
    lam = torch.tensor([first, second], dtype=torch.float64)
    points = torch.tensor([a], dtype=torch.float64), torch.tensor([b], dtype=torch.float64)
    torch.testing.assert_close(
        decouple(*mix_twice(*points, lam), lam), torch.stack(points), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("method", [MITL(), MITA(), MITA(0.2, margin=0.8)])
@pytest.mark.parametrize("seed", range(4))
def test_on_a_linear_model_both_clean_samples_come_back(method: Method, seed: int) -> None:
    """Then â = f(x), b̂ = f(x_σ), and the loss is the mean of the clean losses of x and of x_σ: that of x."""
    model = Staged(activation=nn.Identity).double()
    loss = method.loss(model, X.double(), Y, generator=seeded(seed))
    assert loss.item() == pytest.approx(cross_entropy(model(X.double()), Y).item(), abs=1e-6)


def test_stages_form_without_stages_between_is_the_logits_form() -> None:
    """Decoupled after an identity and mixed again, nothing has happened to a linear part before it."""
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3), nn.Identity())
    pairs, generator = GivenPairs((0.9, 0.2), (0.8, 0.1)), seeded()
    stages = Method(p.RandomPairs(), pairs, i.Linear(), o.DecoupledStages(("3",)))
    logits = Method(p.RandomPairs(), GivenPairs((0.9, 0.2)), i.Linear(), o.DecoupledLogits())
    torch.testing.assert_close(
        stages.loss(model, X, Y, generator=generator), logits.loss(model, X, Y, generator=seeded())
    )


def test_fresh_coefficients_for_every_stage() -> None:
    """One pair for the inputs and one after each of three stages."""
    pairs = GivenPairs((0.9, 0.2), (0.8, 0.1), (0.7, 0.2), (0.95, 0.4))
    method = Method(p.RandomPairs(), pairs, i.Linear(), o.DecoupledStages())
    method.loss(Staged(), X, Y)
    assert not pairs.left


@pytest.mark.parametrize("method", [MITL(), MITA()])
def test_gradients_reach_all_parameters(method: Method) -> None:
    model = Staged(norm=nn.BatchNorm1d)
    method.loss(model, X, Y, generator=seeded()).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    assert all(p.grad.any() for p in (model.stem[1].weight, model.middle[0].weight, model.head.weight))


def test_decoupling_against_finite_differences() -> None:
    lam = torch.tensor([0.8, 0.1], dtype=torch.float64)
    points = [torch.randn(3, 2, dtype=torch.float64, generator=seeded(s)).requires_grad_() for s in (0, 1)]
    assert torch.autograd.gradcheck(lambda u, v: decouple(u, v, lam), points)
    assert torch.autograd.gradcheck(lambda u, v: mix_twice(u, v, lam), points)


@pytest.mark.parametrize("method", [MITL(), MITA()])
def test_what_is_refused(method: Method) -> None:
    with pytest.raises(ValueError, match="MIT is defined for classification, got real targets"):
        method.loss(Staged(), X, torch.randn(6, 3))
    wrong = Method(p.RandomPairs(), Mixup().coefficients, i.Linear(), method.objective)
    with pytest.raises(TypeError, match="MIT needs pairs of coefficients, got Beta: use SeparatedBetas"):
        wrong.loss(Staged(), X, Y)
    pooled = Method(p.RandomPairs("pool"), method.coefficients, i.Linear(), method.objective).fit(X, Y)
    with pytest.raises(ValueError, match="takes no partners from the pool"):
        pooled.loss(Staged(), X, Y)


def test_stages_must_be_known() -> None:
    model = nn.Sequential(nn.Linear(4, 3))
    with pytest.raises(ValueError, match=r"Sequential does not name its stages.* or use MIT-L"):
        MITA().loss(model, X, Y)
    with pytest.raises(ValueError, match=r"unknown layer 'midle'; did you mean 'middle'"):
        MITA(layers=("stem", "midle")).loss(Staged(), X, Y)
    with pytest.raises(TypeError, match="layers must be a tuple of names, got the string 'stem'"):
        MITA(layers="stem")  # type: ignore[arg-type]
    shared = nn.Linear(4, 4)
    with pytest.raises(ValueError, match="layer '0' must run exactly once"):
        MITA(layers=("0",)).loss(nn.Sequential(shared, shared), X, Y)


def test_a_model_that_returns_no_tensor() -> None:
    with pytest.raises(TypeError, match="the model must return a tensor, got tuple"):
        MITL().loss(nn.LSTM(4, 3), X, Y)


FIVE = torch.randn(5, 4, generator=seeded())
OTHER = 3 + 2 * torch.randn(5, 4, generator=seeded(1))


def norm(width: int) -> nn.Module:
    return nn.BatchNorm1d(width)


@pytest.mark.parametrize("momentum", [0.1, None])
def test_one_pass_of_two_halves_equals_two_passes(momentum: float | None) -> None:
    together = Staged(norm=norm)
    for module in together.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.momentum = momentum
    apart = copy.deepcopy(together)
    with grouped_batch_norm(together, groups=2):
        outputs = together(torch.cat((FIVE, OTHER)))
    torch.testing.assert_close(outputs, torch.cat((apart(FIVE), apart(OTHER))))
    torch.testing.assert_close(dict(together.named_buffers()), dict(apart.named_buffers()))
    assert together.stem[2].num_batches_tracked == 2
    assert not torch.allclose(outputs, together(torch.cat((FIVE, OTHER))))


def test_gradients_equal_those_of_two_passes() -> None:
    together = Staged(norm=norm)
    apart = copy.deepcopy(together)
    with grouped_batch_norm(together, groups=2):
        together(torch.cat((FIVE, OTHER))).square().sum().backward()
    (apart(FIVE).square().sum() + apart(OTHER).square().sum()).backward()
    for a, b in zip(together.parameters(), apart.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-5)


def test_layers_come_out_as_they_went_in() -> None:
    model = Staged(norm=norm)
    layer, patched = model.stem[2], model.middle[1]
    patched.forward = original = lambda x: 2 * x  # as libraries do that wrap forward
    with grouped_batch_norm(model, groups=2):
        assert "forward" in layer.__dict__
    with pytest.raises(RuntimeError, match="shapes"), grouped_batch_norm(model, groups=2):
        model(torch.zeros(2, 9))
    assert "forward" not in layer.__dict__
    assert patched.__dict__["forward"] is original


def test_layers_in_evaluation_are_left_alone() -> None:
    model = Staged(norm=norm).eval()
    with grouped_batch_norm(model, groups=2):
        assert not any("forward" in module.__dict__ for module in model.modules())


def test_decoupling_at_stages_runs_its_halves_apart() -> None:
    """MIT-A's single pass against the same step written out as two passes, stage by stage."""
    model = Staged(norm=norm)
    reference = copy.deepcopy(model)
    y = torch.tensor([0, 1, 2, 0, 1])
    loss = MITA().loss(model, FIVE, y, generator=seeded(2))
    torch.testing.assert_close(loss, written_out(reference, y))
    torch.testing.assert_close(dict(model.named_buffers()), dict(reference.named_buffers()))


def written_out(model: Staged, y: torch.Tensor) -> torch.Tensor:
    from tailormix.batch import Draws

    draws = Draws(torch.device("cpu"), seeded(2))
    partner, law = draws.uniform(5).argsort(), MITA().coefficients
    coefficients = iter(law.pairs(draws, 4).unbind(1))
    one, two = next(coefficients)
    first, second = one * FIVE + (1 - one) * FIVE[partner], two * FIVE + (1 - two) * FIVE[partner]
    for stage in (model.stem, model.middle, model.last, model.head):
        first, second = stage(first), stage(second)
        a = ((1 - two) * first - (1 - one) * second) / (one - two)
        b = (one * second - two * first) / (one - two)
        if stage is not model.head:
            one, two = next(coefficients)
            first, second = one * a + (1 - one) * b, two * a + (1 - two) * b
    criterion = nn.functional.cross_entropy
    return (criterion(a, y) + criterion(b, y[partner])) / 2
