"""Plans, batches and draws: blending by hand, what is refused, and the laws of random numbers."""

from __future__ import annotations

import math

import pytest
import torch
from scipy import stats

from tailormix import Plan
from tailormix.batch import Batch, Draws, Mixed, one_hot
from tailormix.pairs import RandomPairs


def test_blend_by_hand() -> None:
    """¾·0 + ¼·8 = 2 and ½·8 + ½·0 = 4."""
    plan = Plan(torch.tensor([1, 0]), torch.tensor([0.75, 0.5]))
    assert plan.blend(torch.tensor([[0.0], [8.0]])).tolist() == [[2.0], [4.0]]


def test_blend_with_a_pool() -> None:
    """Partners 30 and 10: ½·2 + ½·30 = 16, 1·4 + 0·10 = 4; their rows are not written to."""
    plan, others = Plan(torch.tensor([2, 0]), torch.tensor([0.5, 1.0])), torch.tensor([30.0, 10.0])
    assert plan.blend(torch.tensor([2.0, 4.0]), others).tolist() == [16.0, 4.0]
    assert others.tolist() == [30.0, 10.0]


@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 2, 5), (4, 3, 6, 6)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_blend_keeps_shape_and_dtype(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    plan = Plan(torch.tensor([3, 2, 1, 0]), torch.tensor([0.0, 1.0, 0.5, 0.25]))
    a = torch.rand(shape).to(dtype)
    before = a.clone()
    got = plan.blend(a)
    assert (got.shape, got.dtype) == (a.shape, dtype)
    assert torch.equal(a, before)
    assert torch.equal(got[0], a[3])
    assert torch.equal(got[1], a[1])


def test_channels_last_stays() -> None:
    a = torch.rand(4, 3, 5, 5).to(memory_format=torch.channels_last)
    plan = Plan(torch.tensor([3, 2, 1, 0]), torch.tensor([0.0, 1.0, 0.5, 0.25]))
    got = plan.blend(a)
    assert got.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(got, plan.blend(a.contiguous()))


def test_gradients_reach_both_partners() -> None:
    """Y = ¼·a₀ + ¾·a₁ twice over: each point gets ¼ + ¾ = 1 when they are each other's partner."""
    a = torch.rand(2, 3, requires_grad=True)
    Plan(torch.tensor([1, 0]), torch.tensor([0.25, 0.75])).blend(a)[0].sum().backward()
    assert a.grad is not None
    assert a.grad.tolist() == [[0.25] * 3, [0.75] * 3]


def test_targets_have_their_own_coefficients() -> None:
    plan = Plan(torch.tensor([1, 0]), torch.tensor([0.5, 0.5]), torch.tensor([1.0, 0.0]))
    assert plan.for_targets.lam.tolist() == [1.0, 0.0]
    assert plan.for_targets.for_targets.lam.tolist() == [1.0, 0.0]
    alone = Plan(torch.tensor([1, 0]), torch.tensor([0.5, 0.5]))
    assert alone.for_targets is alone


def test_labels_by_hand() -> None:
    """Classes 0, 2, 2 with partners 2, 2, 0: the middle one meets its own class, λ + (1-λ) = 1."""
    plan = Plan(torch.tensor([1, 2, 0]), torch.tensor([0.75, 0.3, 0.5]))
    got = Mixed(torch.rand(3, 1), plan, Batch(torch.rand(3, 1), torch.tensor([0, 2, 2]))).targets(3)
    torch.testing.assert_close(got, torch.tensor([[0.75, 0.0, 0.25], [0.0, 0.0, 1.0], [0.5, 0.0, 0.5]]))


def test_labels_are_blended_rows(generator: torch.Generator) -> None:
    y = torch.randint(5, (30,), generator=generator)
    plan = Plan(torch.randperm(30, generator=generator), torch.rand(30, generator=generator))
    rows = torch.nn.functional.one_hot(y, 5).float()
    assert torch.equal(one_hot(y, 5), rows)
    mixed = Mixed(torch.rand(30, 1), plan, Batch(torch.rand(30, 1), y, num_classes=5))
    torch.testing.assert_close(mixed.targets(), plan.blend(rows))


def test_plans_do_not_change() -> None:
    plan = Plan(torch.tensor([0]), torch.tensor([1.0]))
    with pytest.raises(AttributeError):
        plan.lam = torch.tensor([0.0])  # type: ignore[misc]
    assert len(plan) == 1


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.bool])
def test_integers_cannot_be_mixed(dtype: torch.dtype) -> None:
    plan = Plan(torch.tensor([1, 0]), torch.tensor([0.5, 0.5]))
    with pytest.raises(TypeError, match=f"only floating-point tensors can be mixed, got dtype {dtype}"):
        plan.blend(torch.ones(2, 2).to(dtype))


@pytest.mark.parametrize("name", ["lam", "lam_targets", "tau", "distance"])
@pytest.mark.parametrize("shape", [(), (1,), (2, 1), (3,)])
def test_every_field_has_one_value_per_sample(name: str, shape: tuple[int, ...]) -> None:
    fields = {"lam": torch.ones(2), name: torch.ones(shape)}
    with pytest.raises(ValueError, match=rf"{name} must have shape \(n,\) like partner, \(2,\), got"):
        Plan(torch.tensor([1, 0]), **fields)


def test_partner_has_one_axis() -> None:
    with pytest.raises(ValueError, match=r"partner must have shape \(n,\)"):
        Plan(torch.tensor([[1], [0]]), torch.ones(2))


def test_a_label_out_of_range_is_no_row_without_a_class() -> None:
    """Where values cannot be looked at, both mixtures that such a label enters are NaN, whatever their λ."""
    y = torch.tensor([0, 5, 1, 2])
    assert one_hot(y, 3).isnan().all(1).tolist() == [False, True, False, False]
    plan = Plan(torch.tensor([1, 2, 3, 0]), torch.tensor([1.0, 0.5, 0.0, 0.5]))
    rows = Mixed(torch.rand(4, 1), plan, Batch(torch.rand(4, 1), y)).targets(3)
    assert rows.isnan().all(1).tolist() == [True, True, False, False]
    assert rows[2:].sum(1).tolist() == [1, 1]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.int16, torch.int32, torch.int64])
@pytest.mark.parametrize("classes", [200, 600])
def test_indices_of_any_kind(dtype: torch.dtype, classes: int) -> None:
    y = torch.tensor([0, 7, 199]).to(dtype)
    assert torch.equal(one_hot(y, classes), torch.nn.functional.one_hot(y.long(), classes).float())


def test_a_graph_may_hold_several_numbers_of_classes() -> None:
    y = torch.tensor([0, 2, 1])
    both = torch.compile(lambda y: (one_hot(y, 3), one_hot(y, 5)), backend="aot_eager", fullgraph=True)
    for rows, classes in zip(both(y), (3, 5), strict=True):
        assert torch.equal(rows, torch.nn.functional.one_hot(y, classes).float())


CPU = torch.device("cpu")
THREE = Batch(torch.rand(3, 1), torch.zeros(3))


def draws(seed: int = 0) -> Draws:
    return Draws(CPU, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("tau", [0.01, 0.1, 0.5, 1.0, 3.0, 50.0, 1e4])
def test_direct_beta_has_its_law(tau: float) -> None:
    """Near 1 floats are few and below 1e-37 none, so Kolmogorov-Smirnov looks at (1e-37, ½) alone."""
    lam = draws().beta(torch.full((20_000,), tau)).double().numpy()
    low, high = stats.beta.cdf(1e-37, tau, tau), 0.5
    lower = lam[(lam > 1e-37) & (lam < 0.5)]
    assert stats.kstest(lower, lambda x: (stats.beta.cdf(x, tau, tau) - low) / (high - low)).pvalue > 1e-3
    for threshold in (0.3, 0.5, 0.7, 0.99):
        expected = stats.beta.cdf(threshold, tau, tau)
        assert (lam <= threshold).mean() == pytest.approx(expected, abs=5 * math.sqrt(0.25 / 20_000))


@pytest.mark.parametrize("tau", [0.0, 1e-40, 1e-20, 1e-6])
def test_direct_beta_with_tiny_tau_is_a_coin(tau: float) -> None:
    lam = draws().beta(torch.full((10_000,), tau))
    assert bool(((lam < 1e-3) | (lam > 0.999)).double().mean() > 0.999)
    assert lam.double().mean().item() == pytest.approx(0.5, abs=0.025)


@pytest.mark.parametrize("tau", [1e12, 1e30, math.inf])
def test_direct_beta_with_huge_tau_is_a_half(tau: float) -> None:
    lam = draws().beta(torch.full((1000,), tau))
    torch.testing.assert_close(lam, torch.full((1000,), 0.5), rtol=0, atol=1e-5)


def test_direct_beta_takes_one_parameter_per_draw() -> None:
    lam = draws().beta(torch.tensor([1e-6, 1e8]).repeat(500))
    assert bool((lam[1::2] - 0.5).abs().max() < 1e-3)
    assert bool(((lam[::2] < 1e-3) | (lam[::2] > 0.999)).all())


def test_permutations_are_uniform() -> None:
    """Each of the 6 orders of 3 things: 6000 draws, chi-square with 5 degrees of freedom."""
    source = draws()
    orders = [tuple(RandomPairs()(THREE, source).tolist()) for _ in range(6000)]
    counts = [orders.count(order) for order in sorted(set(orders))]
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 1e-3


def test_indices_below() -> None:
    index = draws().below(7, 7000)
    counts = index.bincount(minlength=7).tolist()
    assert len(counts) == 7
    assert stats.chisquare(counts).pvalue > 1e-3
    assert {draws(seed).choice(3) for seed in range(30)} == {0, 1, 2}


def test_one_seed_one_result() -> None:
    for draw in (
        lambda d: d.uniform(5),
        lambda d: d.below(100, 9),
        lambda d: d.beta(torch.full((9,), 0.7)),
        lambda d: torch.tensor(d.choice(10**9)),
    ):
        assert torch.equal(draw(draws(4)), draw(draws(4)))
        assert not torch.equal(draw(draws(4)), draw(draws(5)))


def test_generator_leaves_the_global_state_alone() -> None:
    before = torch.random.get_rng_state()
    source = draws()
    source.uniform(3), source.below(5, 3), source.choice(5)
    source.beta(torch.ones(3))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_default_device_does_not_matter() -> None:
    expected = draws().uniform(3), draws().choice(10**9)
    with torch.device("meta"):
        assert torch.equal(draws().uniform(3), expected[0])
        assert draws().choice(10**9) == expected[1]
