"""ω_τ against scipy, bisection, vectors computed elsewhere, and its own laws."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from helpers import graph_distance, quantile
from tailormix import warp
from tailormix.warping import COLUMNS, EXACT_WARPS, TABLE, WARPS, slope_table

KINDS = sorted(WARPS)
COMPILED = torch.compile(warp, backend="aot_eager", fullgraph=True, dynamic=True)
GRID = 2.0**-24  # the finest step of float32 below 1: there both u and 1-u are exact
TAUS = [0.0, 1e-45, 1e-38, 1e-20, 1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0, 30.0, 1e4, 1e6, 1e20, 1e38, math.inf]
taus = st.floats(-6, 6).map(lambda e: 10.0**e)
on_grid = st.integers(1, 2**24 - 1).map(lambda k: k * GRID)
inside = st.one_of(on_grid, st.floats(-30, -1).map(lambda e: 10.0**e))
points = st.lists(st.tuples(inside, taus), min_size=1, max_size=50)


def arrays(pairs: list[tuple[float, float]]) -> tuple[torch.Tensor, torch.Tensor]:
    u, tau = torch.tensor(pairs, dtype=torch.float64).float().unbind(1)
    return u, tau


# Quantiles of Beta(τ, τ) at these u, found by bisection on the incomplete beta function.
LEVELS = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9]
VECTORS = {
    0.1: [0.0, 9e-8, 0.00084526, 0.5, 0.99915474, 0.99999991],
    0.25: [1.2e-7, 0.00118087, 0.04491014, 0.5, 0.95508986, 0.99881913],
    0.5: [0.00024672, 0.02447174, 0.14644661, 0.5, 0.85355339, 0.97552826],
    1.0: LEVELS,
    2.0: [0.05890314, 0.19580011, 0.32635182, 0.5, 0.67364818, 0.80419989],
    5.0: [0.17096511, 0.30096876, 0.39196384, 0.5, 0.60803616, 0.69903124],
    10.0: [0.25395308, 0.35792988, 0.42408653, 0.5, 0.57591347, 0.64207012],
}


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("tau", VECTORS)
def test_quantiles_found_by_bisection(tau: float, exact: bool) -> None:
    got = warp(torch.tensor(LEVELS), tau, exact=exact)
    atol = 1e-7 if exact else 5e-6
    torch.testing.assert_close(got, torch.tensor(VECTORS[tau]), rtol=0, atol=atol)


def test_arcsine_law() -> None:
    """Beta(½, ½) has the CDF (2/π) arcsin √x, so ω_½(u) = sin²(πu/2)."""
    u = torch.linspace(0, 1, 1001, dtype=torch.float64)
    expected = torch.sin(math.pi * u / 2) ** 2
    torch.testing.assert_close(warp(u, 0.5, exact=True), expected, rtol=0, atol=1e-13)
    torch.testing.assert_close(warp(u, 0.5), expected, rtol=0, atol=5e-6)


@pytest.mark.parametrize(("tau", "share"), [(1e-4, 0.00046), (7.39e-4, 0.0034), (1e-2, 0.0448), (0.1, 0.359)])
def test_share_of_coefficients_that_really_mix(tau: float, share: float) -> None:
    """P(0.01 < λ < 0.99) for λ ~ Beta(τ, τ), read off an even grid of 10⁶ uniforms."""
    u = (torch.arange(10**6, dtype=torch.float64) + 0.5) / 10**6
    lam = warp(u, tau)
    got = ((lam > 0.01) & (lam < 0.99)).double().mean().item()
    assert got == pytest.approx(share, rel=0.012)


@given(points)
def test_table_lies_on_the_graph(pairs: list[tuple[float, float]]) -> None:
    u, tau = arrays(pairs)
    got = warp(u, tau).double().numpy()
    assert graph_distance(u.double().numpy(), tau.double().numpy(), got).max() <= 5e-6


def test_table_lies_on_the_graph_everywhere() -> None:
    tau = torch.logspace(-6, 6, 241)[:, None]
    u = torch.cat(
        (torch.linspace(0.001, 0.999, 400), torch.logspace(-7, -3, 40), 1 - torch.logspace(-7, -3, 40))
    )
    got = warp(u, tau).double().numpy()
    worst = graph_distance(u.double().numpy()[None], tau.double().numpy(), got).max()
    assert worst <= 3e-6  # as the docstring of warp promises, rounding of float32 included


@given(points)
def test_exact_mode(pairs: list[tuple[float, float]]) -> None:
    u, tau = arrays(pairs)
    expected = quantile(u.double().numpy(), tau.double().numpy())
    assert abs(warp(u, tau, exact=True).double().numpy() - expected).max() <= 1e-6


@pytest.mark.parametrize("tau", [1e-6, 3e-4, 0.02, 0.7, 13.0, 4e3, 1e6])
@pytest.mark.parametrize("u", [1e-20, 1e-4, 0.2, 0.4999, 0.5001, 0.99])
def test_exact_mode_by_bisection(tau: float, u: float) -> None:
    """Halving [0, 1] sixty times needs the CDF alone, so it shares no inversion with the code."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if special.betainc(tau, tau, middle) < u else (low, middle)
    got = warp(torch.tensor(u, dtype=torch.float64), tau, exact=True).item()
    assert got == pytest.approx(low, abs=1e-6)


@given(points)
def test_beta_kind_is_the_beta_cdf(pairs: list[tuple[float, float]]) -> None:
    u, tau = arrays(pairs)
    a = 1 / tau.double().numpy()
    expected = special.betainc(a, a, u.double().numpy())
    up = abs(warp(u, tau, "beta").double().numpy() - expected)
    side = abs(quantile(np.clip(warp(u, tau, "beta").double().numpy(), 0, 1), a) - u.double().numpy())
    assert np.minimum(up, side).max() <= 5e-6
    assert abs(warp(u, tau, "beta", exact=True).double().numpy() - expected).max() <= 1e-6


@given(points)
def test_sigmoid_kind(pairs: list[tuple[float, float]]) -> None:
    u, tau = arrays(pairs)
    expected = special.expit(special.logit(u.double().numpy()) / tau.double().numpy())
    for exact in (False, True):
        assert abs(warp(u, tau, "sigmoid", exact).double().numpy() - expected).max() <= 1e-6


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tau", TAUS)
def test_fixed_points(tau: float, kind: str, exact: bool) -> None:
    got = warp(torch.tensor([0.0, 0.5, 1.0]), torch.tensor(tau), kind, exact)
    assert got.tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_one_is_the_identity(kind: str, exact: bool) -> None:
    u = torch.cat((torch.linspace(0, 1, 5001), torch.logspace(-30, -3, 300)))
    torch.testing.assert_close(warp(u, 1.0, kind, exact), u, rtol=0, atol=1e-6)


@given(st.lists(st.tuples(on_grid, taus), min_size=1, max_size=50), st.sampled_from(KINDS), st.booleans())
def test_symmetry(pairs: list[tuple[float, float]], kind: str, exact: bool) -> None:
    u, tau = arrays(pairs)
    mirrored = 1 - warp(1 - u, tau, kind, exact)
    torch.testing.assert_close(warp(u, tau, kind, exact), mirrored, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tau", [1e-6, 1e-3, 0.05, 0.3, 1.0, 1.7, 20.0, 3e3, 1e6])
def test_monotone_up_to_one_ulp(tau: float, kind: str) -> None:
    u = torch.cat(
        (torch.linspace(0, 1, 20001), torch.logspace(-38, -1, 2001), 0.5 + torch.arange(-500, 501) * GRID)
    )
    got = warp(u.sort().values, tau, kind)
    ulp = torch.nextafter(got[1:], torch.tensor(2.0)) - got[1:]
    assert bool((got.diff() >= -ulp).all())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_never_leaves_the_unit_interval(kind: str, dtype: torch.dtype) -> None:
    tiny = torch.finfo(dtype).smallest_normal
    u = torch.tensor([0.0, tiny, 1e-4, 0.25, 0.4999, 0.5, 0.51, 0.999, 1 - torch.finfo(dtype).eps / 2, 1.0])
    for exact in (False, True):
        got = warp(u.to(dtype), torch.tensor(TAUS)[:, None], kind, exact)
        assert got.dtype == dtype
        assert bool(((got >= 0) & (got <= 1)).all())  # false for NaN, too


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("tau", "expected"), [(0.0, [0.0, 0.0, 0.5, 1.0, 1.0]), (math.inf, [0.0, 0.5, 0.5, 0.5, 1.0])]
)
def test_limits(tau: float, expected: list[float], kind: str) -> None:
    u = torch.tensor([0.0, 0.4, 0.5, 0.6, 1.0])
    for exact in (False, True):
        assert warp(u, tau, kind, exact).tolist() == expected


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("tau", [1e-3, 0.1, 0.7, 3.0, 1e5])
def test_half_precision_is_the_rounded_result(tau: float, dtype: torch.dtype) -> None:
    """τ itself keeps its precision: 1e5 is no float16 number, and 0.1 rounded moves quantiles by 1 %."""
    u = torch.linspace(0.01, 0.99, 99).to(dtype)
    expected = warp(u.double(), tau, exact=True)
    torch.testing.assert_close(
        warp(u, tau).double(), expected, rtol=torch.finfo(dtype).eps, atol=5e-6 + torch.finfo(dtype).tiny
    )


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("left", "right", "shape"),
    [
        ((), (), ()),
        ((0,), (), (0,)),
        ((0, 3), (1,), (0, 3)),
        ((4,), (3, 1), (3, 4)),
        ((2, 1, 5), (4, 1), (2, 4, 5)),
        ((1,), (7,), (7,)),
    ],
)
def test_any_shape(
    left: tuple[int, ...], right: tuple[int, ...], shape: tuple[int, ...], kind: str, exact: bool
) -> None:
    u, tau = torch.rand(left), torch.rand(right) + 0.1
    got = warp(u, tau, kind, exact)
    assert got.shape == shape
    flat = zip(u.expand(shape).flatten(), tau.expand(shape).flatten(), strict=True)
    one_by_one = [warp(a, b, kind, exact) for a, b in flat]
    torch.testing.assert_close(got.flatten(), torch.stack(one_by_one) if one_by_one else torch.empty(0))


def test_memory_layout_does_not_matter() -> None:
    u, tau = torch.rand(5, 3), torch.rand(5, 3)
    assert torch.equal(warp(u.T, tau.T), warp(u, tau).T)


def test_operands_are_left_alone() -> None:
    u, tau = torch.rand(2, 9).unbind()
    before = u.clone(), tau.clone()
    for kind in KINDS:
        warp(u, tau, kind)
        warp(u, tau, kind, exact=True)
    assert torch.equal(torch.stack((u, tau)), torch.stack(before))


@pytest.mark.parametrize("tau", [0.01, 0.1, 0.5, 1.0, 2.0, 10.0, 100.0])
def test_uniform_draws_become_beta(tau: float) -> None:
    """The share below a threshold is binomial: five standard deviations, and the table's 5e-6."""
    draws = 100_000
    lam = warp(torch.rand(draws, generator=torch.Generator().manual_seed(3)), tau)
    for threshold in (0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999):
        expected = stats.beta.cdf(threshold, tau, tau)
        sampling = 5 * math.sqrt(expected * (1 - expected) / draws)
        assert (lam <= threshold).double().mean().item() == pytest.approx(expected, abs=sampling + 1e-5)


@pytest.mark.parametrize("kind", ["inverse_beta", "sigmoid"])
def test_gradients_flow(kind: str) -> None:
    """The table's slopes are constant within a cell; at these points that is half a percent off at most."""
    u = torch.tensor([0.1, 0.3, 0.6, 0.9], dtype=torch.float64, requires_grad=True)
    tau = torch.tensor([0.5, 2.0, 10.0, 0.2], dtype=torch.float64, requires_grad=True)
    warp(u, tau, kind).sum().backward()
    h, flat, t = 1e-4, u.detach(), tau.detach()
    along_u = (warp(flat + h, t, kind, True) - warp(flat - h, t, kind, True)) / (2 * h)
    along_tau = (warp(flat, t + h, kind, True) - warp(flat, t - h, kind, True)) / (2 * h)
    torch.testing.assert_close(u.grad, along_u, rtol=5e-3, atol=1e-5)
    torch.testing.assert_close(tau.grad, along_tau, rtol=5e-3, atol=1e-5)


def test_beta_kind_carries_no_gradient() -> None:
    assert not warp(torch.rand(3, requires_grad=True), 2.0, "beta").requires_grad


def test_table_and_exact_mode_offer_the_same_kinds() -> None:
    assert list(EXACT_WARPS) == list(WARPS)


def test_table_is_positive_and_steeper_for_smaller_tau() -> None:
    table = slope_table(64, 32)
    assert table.shape == (65, 33)
    assert table.min() > 0
    assert np.isfinite(table).all()
    assert (np.diff(table, axis=0) > 0).all()
    np.testing.assert_allclose(table[16], 1, rtol=1e-12)  # τ = 1


@pytest.mark.parametrize("tau", [1.0, 10.0, 100.0, 1e4])
def test_tails_are_right_upwards_too(tau: float) -> None:
    """Where the graph is steep, being near to it sideways says little."""
    u = torch.logspace(-7.4, -2, 500, dtype=torch.float64)
    torch.testing.assert_close(warp(u, tau), warp(u, tau, exact=True), rtol=0, atol=1e-3)
    torch.testing.assert_close(warp(u[-250:], tau), warp(u[-250:], tau, exact=True), rtol=0, atol=2e-5)


@pytest.mark.parametrize("tau", [2.0, 100.0, 1e4])
def test_below_the_smallest_draw_of_float32_it_stays_monotone_and_near(tau: float) -> None:
    """At 1e-9 and τ = 100, 0.29 instead of 0.297; the error grows to 0.1 at 1e-38, as the docstring says."""
    u = torch.logspace(-37.5, -7.5, 300)
    warped, exact = warp(u, tau), warp(u, tau, exact=True)
    assert (warped.diff() >= 0).all()
    torch.testing.assert_close(warped, exact, rtol=0, atol=0.12)
    torch.testing.assert_close(warped[u >= 1e-9], exact[u >= 1e-9], rtol=0, atol=0.01)


def test_what_lies_outside_the_domain_is_no_number_where_nobody_looks() -> None:
    u, tau = torch.tensor([0.3, 0.5, 0.9, -0.1]), torch.tensor([math.nan, -1.0, -1e-30, 1.0])
    assert WARPS["inverse_beta"](u.logit(), tau).isnan().all()
    assert COMPILED(u, tau).isnan().all()


def test_autocast_changes_nothing() -> None:
    u = torch.rand(50)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = warp(u, 0.3)
    assert torch.equal(got, warp(u, 0.3))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            (torch.tensor([0.5, 1.5]), 1.0),
            ValueError,
            r"lam must lie in \[0, 1\], got values from 0.5 to 1.5",
        ),
        ((torch.tensor([-0.5]), 1.0), ValueError, r"lam must lie in \[0, 1\]"),
        ((torch.tensor([math.nan]), 1.0), ValueError, r"lam must lie in \[0, 1\], got values from nan"),
        ((torch.tensor([1]), 1.0), TypeError, "lam must be a floating-point tensor, got dtype torch.int64"),
        ((torch.rand(2), -1.0), ValueError, "tau must be >= 0, got -1.0"),
        ((torch.rand(2), math.nan), ValueError, "tau must be >= 0, got nan"),
        ((torch.rand(2), torch.tensor([1.0, -2.0])), ValueError, "tau must be >= 0, got -2.0"),
        ((torch.rand(2), "1"), TypeError, "tau must be a number, got str: '1'"),
        ((torch.rand(2), torch.rand(3)), ValueError, "shape mismatch"),
        (
            (torch.rand(2), 1.0, "inverse-beta"),
            ValueError,
            "unknown kind 'inverse-beta'; did you mean 'inverse_beta'",
        ),
        ((torch.rand(2), 1.0, None), TypeError, "unknown kind None"),
    ],
)
def test_bad_input(arguments: tuple[object, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        warp(*arguments)  # type: ignore[arg-type]


@given(pairs=points)
def test_compiled_code_gives_the_same(pairs: list[tuple[float, float]]) -> None:
    u, tau = arrays(pairs)
    torch.testing.assert_close(COMPILED(u, tau), warp(u, tau), rtol=0, atol=2e-6)


def test_the_shipped_table_is_what_its_code_computes() -> None:
    assert TABLE.dtype == torch.float32
    expected = slope_table()
    np.testing.assert_allclose(TABLE[:, COLUMNS:].numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(TABLE[:, : COLUMNS + 1].flip(1).numpy(), expected, rtol=1e-6)
