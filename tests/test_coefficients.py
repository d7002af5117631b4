"""Coefficients: laws, limits and values worked out by hand."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from nets import Scripted, batch, seeded
from tailormix import MITA, MITL, Mixup, MixupIO, MixupTO, Remix, SKMixup, TwoBeta, WarpedMixup, warp
from tailormix import coefficients as c
from tailormix.batch import Batch, Draws
from tailormix.coefficients import (
    Beta,
    Constant,
    InputsOnly,
    SeparatedBetas,
    SimilarityKernel,
    TargetsOnly,
    Warped,
    feasible_share,
)

CPU = torch.device("cpu")


def draws(seed: int = 0) -> Draws:
    return Draws(CPU, torch.Generator().manual_seed(seed))


def uniforms(n: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(n, generator=torch.Generator().manual_seed(seed))


def samples(n: int, points: torch.Tensor | None = None, classes: int | None = 2) -> Batch:
    return Batch(torch.rand(n, 2), torch.zeros(n, dtype=torch.long), classes, points)


def ring(n: int) -> torch.Tensor:
    return torch.arange(n).roll(1)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 4.0])
def test_beta_per_sample_has_its_law(alpha: float) -> None:
    lam = Beta(alpha, "sample")(samples(20_000), ring(20_000), draws()).lam.double().numpy()
    lower = lam[(lam > 1e-37) & (lam < 0.5)]
    assert stats.kstest(lower, lambda x: 2 * stats.beta.cdf(x, alpha, alpha)).pvalue > 1e-3
    assert (lam > 0.5).mean() == pytest.approx(0.5, abs=0.02)


def test_beta_per_batch_is_one_draw() -> None:
    lam = Beta(0.5)(samples(10), ring(10), draws()).lam
    assert lam.unique().numel() == 1
    torch.testing.assert_close(lam[:1], warp(uniforms(1), 0.5, exact=True), rtol=0, atol=1e-5)
    assert Beta(0.0)(samples(3), ring(3), draws()).lam.tolist() == [1.0] * 3


def test_constant() -> None:
    assert Constant(0.25)(samples(3), ring(3), draws()).lam.tolist() == [0.25] * 3
    with pytest.raises(ValueError, match=r"lam must lie in \[0, 1\], got 2"):
        Constant(2)


@pytest.mark.parametrize("kind", ["inverse_beta", "beta", "sigmoid"])
def test_warped_uses_one_draw_for_both(kind: str) -> None:
    plan = Warped(0.3, 2.0, "sample", kind)(samples(50), ring(50), draws())
    u = uniforms(50)
    torch.testing.assert_close(plan.lam, warp(u, 0.3, kind, exact=True), rtol=0, atol=2e-5)
    torch.testing.assert_close(plan.for_targets.lam, warp(u, 2.0, kind, exact=True), rtol=0, atol=2e-5)
    assert plan.tau is not None
    assert plan.tau.unique().numel() == 1


@pytest.mark.parametrize("per", ["batch", "sample"])
@pytest.mark.parametrize("alpha", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_one_sided_mixup_is_the_limit_of_the_disentangled_form(alpha: float, per: str, seed: int) -> None:
    x, y = torch.rand(12, 3), torch.arange(12) % 4
    generators = [torch.Generator().manual_seed(seed) for _ in range(4)]
    inputs_only = MixupIO(alpha, per=per, num_classes=4)(x, y, generator=generators[0])
    limit = WarpedMixup(alpha, 0.0, per=per, num_classes=4)(x, y, generator=generators[1])
    torch.testing.assert_close(inputs_only, limit, rtol=0, atol=2e-6)
    assert set(inputs_only[1].unique().tolist()) == {0.0, 1.0}
    targets_only = MixupTO(alpha, per=per, num_classes=4)(x, y, generator=generators[2])
    limit = WarpedMixup(0.0, alpha, per=per, num_classes=4)(x, y, generator=generators[3])
    torch.testing.assert_close(targets_only, limit, rtol=0, atol=2e-6)
    rows = {tuple(row) for row in x.tolist()}
    assert all(tuple(row) in rows for row in targets_only[0].tolist())


def test_one_sided_follows_the_dominant_sample() -> None:
    inner = Constant(0.7)
    plan = InputsOnly(inner)(samples(2), ring(2), draws())
    assert (plan.lam[0].item(), plan.for_targets.lam.tolist()) == (pytest.approx(0.7), [1.0, 1.0])
    plan = TargetsOnly(Constant(0.3))(samples(2), ring(2), draws())
    assert (plan.lam.tolist(), plan.for_targets.lam[0].item()) == ([0.0, 0.0], pytest.approx(0.3))


@pytest.mark.parametrize("kind", ["inverse_beta", "beta", "sigmoid"])
@pytest.mark.parametrize("tau_max", [0.1, 1.0, 5.0])
def test_equal_distances_are_plain_beta_mixing(tau_max: float, kind: str) -> None:
    """One-hot rows are equally far from each other; a ring has no self-pairs, whose distance would be 0."""
    n = 16
    kernel, points = SimilarityKernel(tau_max, 0.25, kind=kind), samples(n, torch.eye(n))
    plan = kernel(points, ring(n), draws())
    assert plan.distance is not None
    assert plan.distance.tolist() == [1.0] * n
    plain = Warped(tau_max, per="sample", kind=kind)(points, ring(n), draws())
    torch.testing.assert_close(plan.lam, plain.lam, rtol=0, atol=5e-6 if tau_max == 1 else 3e-7)
    expected = warp(uniforms(n), torch.full((n,), tau_max), kind, exact=True)
    torch.testing.assert_close(plan.lam, expected, rtol=0, atol=3e-5)


def test_self_pairs_are_mixed_most() -> None:
    """Two of four are their own partners: d̄ = 0, 0, 2, 2, so τ = e^{±8} at τ_std = ¼."""
    points = samples(4, torch.eye(4))
    partner = torch.tensor([0, 1, 3, 2])
    plan = SimilarityKernel()(points, partner, draws())
    assert torch.equal(plan.lam, SimilarityKernel()(points, partner, draws()).lam)
    assert plan.tau is not None
    torch.testing.assert_close(plan.tau, torch.tensor([math.exp(8)] * 2 + [math.exp(-8)] * 2))


def test_wide_kernel_is_mixup_per_sample() -> None:
    x, y, h = torch.rand(32, 3), torch.arange(32) % 4, torch.randn(32, 5)
    generators = [torch.Generator().manual_seed(1) for _ in range(2)]
    kernel = SKMixup(0.5, 1e9, num_classes=4)(x, y, h, generator=generators[0])
    plain = Mixup(0.5, per="sample", num_classes=4)(x, y, generator=generators[1])
    torch.testing.assert_close(kernel, plain, rtol=0, atol=1e-6)


def test_zero_tau_max_mixes_nothing() -> None:
    plan = SimilarityKernel(0.0)(samples(64, torch.randn(64, 3)), ring(64), draws())
    assert set(plan.lam.tolist()) <= {0.0, 0.5, 1.0}


def test_targets_may_have_their_own_kernel() -> None:
    n, points = 20, torch.randn(20, 3)
    apart = SimilarityKernel(1.0, 0.5, tau_max_targets=0.2, tau_std_targets=2.0)(
        samples(n, points), ring(n), draws()
    )
    inputs = SimilarityKernel(1.0, 0.5)(samples(n, points), ring(n), draws())
    targets = SimilarityKernel(0.2, 2.0)(samples(n, points), ring(n), draws())
    assert torch.equal(apart.lam, inputs.lam)
    assert torch.equal(apart.for_targets.lam, targets.lam)
    only_max = SimilarityKernel(1.0, 0.5, tau_max_targets=0.2)(samples(n, points), ring(n), draws())
    assert torch.equal(
        only_max.for_targets.lam, SimilarityKernel(0.2, 0.5)(samples(n, points), ring(n), draws()).lam
    )


@pytest.mark.parametrize("sampling", ["warp", "exact", "direct"])
@pytest.mark.parametrize("tau_max", [1e-8, 0.5, 2.0, 1e8])
def test_all_samplings_have_one_law(tau_max: float, sampling: str) -> None:
    n = 4096
    points = torch.eye(2).repeat(n // 2, 1)  # neighbours in a ring are all equally far
    lam = (
        SimilarityKernel(tau_max, sampling=sampling)(samples(n, points), ring(n), draws())
        .lam.double()
        .numpy()
    )
    for threshold in (0.01, 0.4, 0.6, 0.99):
        expected = stats.beta.cdf(threshold, tau_max, tau_max)
        assert (lam <= threshold).mean() == pytest.approx(expected, abs=5 * math.sqrt(0.25 / n))


def test_spaces() -> None:
    x, y = torch.rand(6, 3), torch.tensor([0, 1, 2, 0, 1, 2])
    embeddings = torch.randn(6, 4)

    def distance(space: Any, y: torch.Tensor = y, classes: int | None = 3) -> torch.Tensor:
        points = Batch(x, y, classes, embeddings)
        found = SimilarityKernel(space=space)(points, ring(6), draws()).distance
        assert found is not None
        return found

    from tailormix import pair_distance

    assert torch.equal(distance(None), pair_distance(embeddings, ring(6)))
    assert torch.equal(distance("embedding"), distance(None))
    assert torch.equal(distance("input"), pair_distance(x, ring(6)))
    assert torch.equal(distance("label"), pair_distance(torch.eye(3)[y], ring(6)))
    real = torch.randn(6, 2)
    assert torch.equal(distance(None, real, None), pair_distance(real, ring(6)))
    assert torch.equal(distance(torch.exp), pair_distance(x.exp(), ring(6)))
    assert torch.equal(distance(torch.nn.Sequential()), pair_distance(x, ring(6)))


def test_a_space_must_keep_the_rows_and_carries_no_gradient() -> None:
    x, y = torch.rand(4, 3), torch.tensor([0, 1, 0, 1])
    layer = torch.nn.Linear(3, 2)
    seen: list[torch.Tensor] = []

    def space(x: torch.Tensor) -> torch.Tensor:
        seen.append(layer(x))
        return seen[-1]

    SKMixup(space=space, num_classes=2)(x, y)
    assert not seen[0].requires_grad
    with pytest.raises(ValueError, match=r"space must return 4 rows, one per sample, got \(1, 3\)"):
        SKMixup(space=lambda x: x[:1], num_classes=2)(x, y)


def test_label_space_of_class_indices_needs_their_number() -> None:
    with pytest.raises(ValueError, match="space='label' with class indices needs num_classes"):
        SimilarityKernel(space="label")(samples(4, classes=None), ring(4), draws())


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: SKMixup(tau_std=0), ValueError, "tau_std must be > 0, got 0"),
        (lambda: SKMixup(tau_std=-1.0), ValueError, "tau_std must be > 0, got -1.0"),
        (lambda: SKMixup(tau_max=-1.0), ValueError, "tau_max must be >= 0, got -1.0"),
        (lambda: SKMixup(tau_max_targets=-1.0), ValueError, "tau_max_targets must be >= 0"),
        (lambda: SKMixup(tau_std_targets=0.0), ValueError, "tau_std_targets must be > 0"),
        (lambda: SKMixup(tau_max="1"), TypeError, "tau_max must be a number, got str"),  # type: ignore[arg-type]
        (lambda: SKMixup(space="embeding"), ValueError, "unknown space 'embeding'; did you mean 'embedding'"),
        (lambda: SKMixup(kind="sigmod"), ValueError, "unknown kind 'sigmod'; did you mean 'sigmoid'"),
        (lambda: SKMixup(sampling="drect"), ValueError, "unknown sampling 'drect'; did you mean 'direct'"),
        (
            lambda: SKMixup(sampling="direct", kind="beta"),
            ValueError,
            "sampling='direct' draws from one Beta",
        ),
        (lambda: SKMixup(sampling="direct", tau_max_targets=1.0), ValueError, "sampling='direct'"),
        (lambda: SKMixup(partners="pol"), ValueError, "unknown source 'pol'"),
        (lambda: Mixup(alpha=-0.1), ValueError, "alpha must be >= 0, got -0.1"),
        (lambda: Mixup(alpha=math.nan), ValueError, "alpha must be >= 0, got nan"),
        (lambda: Mixup(per="sampl"), ValueError, "unknown per 'sampl'; did you mean 'sample'"),
        (lambda: MixupIO(alpha=-1), ValueError, "alpha must be >= 0"),
        (lambda: WarpedMixup(tau=-1), ValueError, "tau must be >= 0, got -1"),
        (lambda: WarpedMixup(tau_targets=-1), ValueError, "tau_targets must be >= 0, got -1"),
        (lambda: WarpedMixup(kind="x"), ValueError, "unknown kind 'x'"),
        (lambda: Mixup(num_classes=1), ValueError, "num_classes must be >= 2, got 1"),
        (lambda: Mixup(num_classes=2.0), TypeError, "num_classes must be a whole number"),  # type: ignore[arg-type]
    ],
)
def test_bad_settings_of_similarity_kernel(build: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()


def test_points_that_a_space_keeps_are_not_written_over() -> None:
    """Distances are formed in place: what a function of x returns for the pool must be copied first."""
    remembered = torch.rand(6, 2)
    before = remembered.clone()
    x, y = torch.rand(6, 3), torch.rand(6)
    method = SKMixup(space=lambda _: remembered, partners="pool").fit(x, y)
    method.plan(x, y)
    assert torch.equal(remembered, before)


@pytest.mark.parametrize(("alpha", "values"), [(5e-324, {0.0, 1.0}), (1e-30, {0.0, 1.0}), (1e308, {0.5})])
def test_shapes_beyond_float32(alpha: float, values: set[float]) -> None:
    assert set(Beta(alpha, per="sample")(samples(32), ring(32), draws()).lam.tolist()) == values


def test_a_draw_without_shape_is_a_number() -> None:
    assert Draws(torch.device("cpu")).uniform().shape == ()


def test_a_kernel_is_sent_without_what_it_keeps() -> None:
    kernel = SimilarityKernel(0.5, 0.3, tau_max_targets=2.0, space="label")
    sent = pickle.loads(pickle.dumps(kernel))
    assert sent == kernel
    assert b"torch" not in pickle.dumps(kernel)
    assert copy.deepcopy(kernel)(samples(4, classes=2), ring(4), draws()).lam.shape == (4,)


def targets_lam(lam: list[float], y: list[int], partner: list[int], **settings: object) -> list[float]:
    """λ of the targets, for given λ of the inputs: with α = 1 a coefficient is the uniform itself."""
    component = c.Remix(per="sample", **settings)
    plan = component(batch(torch.zeros(len(y), 1), y), torch.tensor(partner), Scripted(lam))
    assert plan.lam.tolist() == pytest.approx(lam)
    return plan.for_targets.lam.tolist()


def test_three_cases_by_hand() -> None:
    """Counts 30 and 10, κ = 3, t = 0.5: class 0 is three times as frequent as class 1, just enough.

    i    classes  N_i/N_j  λ    rule
    0    0 with 1    3     0.4  frequent, λ < t: the partner's label, 0
    1    0 with 1    3     0.6  frequent, but λ ≥ t: λ
    2    1 with 0   1/3    0.6  rare, 1-λ < t: its own label, 1
    3    1 with 0   1/3    0.4  rare, but 1-λ ≥ t: λ
    4    0 with 0    1     0.1  balanced: λ
    """
    found = targets_lam([0.4, 0.6, 0.6, 0.4, 0.1], [0, 0, 1, 1, 0], [2, 3, 0, 1, 0], counts=(30, 10))
    assert found == pytest.approx([0.0, 0.6, 1.0, 0.4, 0.1])


def test_just_below_kappa_nothing_changes() -> None:
    assert targets_lam([0.4, 0.6], [0, 1], [1, 0], counts=(29, 10)) == pytest.approx([0.4, 0.6])


def test_threshold_and_kappa_are_settings() -> None:
    """κ = 2, t = 0.2: λ = 0.1 < t gives 0, λ = 0.3 does not."""
    found = targets_lam([0.1, 0.3, 0.5], [0, 0, 1], [2, 2, 0], counts=(4, 2), kappa=2.0, threshold=0.2)
    assert found == pytest.approx([0.0, 0.3, 0.5])


def test_fit_counts_classes_unless_they_are_given() -> None:
    y = torch.tensor([0, 0, 0, 2])
    assert Remix().fit(torch.zeros(4, 1), y).coefficients.counts == (3, 0, 1)
    assert Remix(counts=(5, 5, 5)).fit(torch.zeros(4, 1), y).coefficients.counts == (5, 5, 5)


def test_soft_rows_count_like_class_indices() -> None:
    y = torch.tensor([0, 1, 0, 1])
    method = Remix(counts=(30, 10), per="sample", num_classes=2)
    x = torch.arange(4.0)[:, None]
    hard = method(x, y, generator=torch.Generator().manual_seed(0))
    soft = method(x, torch.nn.functional.one_hot(y, 2).float(), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(hard, soft)


@pytest.mark.parametrize(
    ("method", "y", "message"),
    [
        (Remix(num_classes=2), torch.tensor([0, 1]), r"pass counts=, or call fit\(x, y\)"),
        (Remix(counts=(3, 1)), torch.tensor([0.5, 1.5]), "defined for classification, got real targets"),
        (Remix(counts=(3, 1)), torch.tensor([0, 2]), "counts must hold every class, got 2 for class 2"),
    ],
)
def test_errors(method: object, y: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        method.plan(torch.zeros(2, 1), y)


def test_bad_settings_of_remix() -> None:
    for real in (torch.zeros(2), torch.zeros(2, 1), torch.tensor([[0.5, -3.0], [1.0, 2.0]])):
        with pytest.raises(ValueError, match="y must hold class indices or soft rows, got real targets"):
            Remix().fit(torch.zeros(2, 1), real)
    with pytest.raises(ValueError, match="counts must be >= 0"):
        Remix(counts=(-1, 2))
    with pytest.raises(ValueError, match="kappa must be > 0"):
        Remix(kappa=-1)


def rejected(alpha: float, margin: float, rng: np.random.Generator, size: int) -> tuple[np.ndarray, float]:
    """(λ₁, λ₂) by drawing both again until the margin holds, and the share of draws that held it."""
    b = rng.beta(alpha, alpha, (2, size))
    first, second = np.maximum(b[0], 1 - b[0]), np.minimum(b[1], 1 - b[1])
    kept = first - second >= margin
    return np.stack((first[kept], second[kept])), kept.mean()


@pytest.mark.parametrize(("alpha", "margin"), [(1.0, 0.5), (0.1, 0.5), (2.0, 0.3), (1.0, 0.05), (1.0, 0.9)])
def test_law_equals_drawing_again(alpha: float, margin: float) -> None:
    draws = Draws(torch.device("cpu"), seeded(1))
    component = SeparatedBetas(alpha, margin)
    ours = torch.cat([component.pairs(draws, 10) for _ in range(100)], dim=1).double().numpy()
    theirs, _ = rejected(alpha, margin, np.random.default_rng(2), 400_000)
    assert (ours[0] - ours[1] >= margin - 1e-6).all()
    assert (ours[0] >= 0.5).all()
    assert (ours[1] <= 0.5).all()
    ours, theirs = ours.round(6), theirs.round(6)  # in float32, 1 - b has no digits left below 1e-7
    for mine, other in zip((*ours, ours[0] - ours[1]), (*theirs, theirs[0] - theirs[1]), strict=True):
        assert stats.ks_2samp(mine, other).pvalue > 1e-3


@pytest.mark.parametrize(("margin", "share"), [(0.0, 1.0), (0.5, 0.5), (0.75, 0.125), (0.9, 0.02)])
def test_feasible_share_of_uniform_draws_by_hand(margin: float, share: float) -> None:
    """For α = 1 the distances of λ₁ from 1 and of λ₂ from 0 are uniform on [0, ½] and must sum to ≤ 1 - m.

    In halves: U + U' ≤ s with s = 2(1 - m), which has probability s²/2 for s ≤ 1. m = 0.75: s = ½, ⅛.
    """
    assert feasible_share(1.0, margin) == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize(("alpha", "margin"), [(0.2, 0.5), (3.0, 0.4), (10.0, 0.2)])
def test_feasible_share_against_draws(alpha: float, margin: float) -> None:
    _, share = rejected(alpha, margin, np.random.default_rng(0), 200_000)
    assert feasible_share(alpha, margin) == pytest.approx(share, abs=5e-3)


@pytest.mark.parametrize("build", [MITL, MITA])
def test_infeasible_settings_are_refused_at_once(build: object) -> None:
    with pytest.raises(ValueError, match="margin must lie strictly between 0 and 1, got 1"):
        build(margin=1.0)
    with pytest.raises(ValueError, match=r"margin=0.9 with alpha=50.* leaves .* of all draws"):
        build(50.0, margin=0.9)
    with pytest.raises(ValueError, match="alpha must be > 0, got 0"):
        build(0.0)
    with pytest.raises(ValueError, match=r"margin must lie in \[0, 1\], got 2"):
        build(margin=2)


def test_one_draw_and_no_look_at_its_values() -> None:
    """On the meta device tensors have no values: looking at one would fail."""
    assert SeparatedBetas(1.0, 0.5).pairs(Draws(torch.device("meta")), 3).shape == (2, 3)


def test_near_and_far_by_hand() -> None:
    """Points 0, 1, 3 with partners 1, 2, 0: squares 1, 4, 9, mean 14/3, d̄ = 3/14, 6/7, 27/14."""
    data = batch(torch.tensor([[0.0], [1.0], [3.0]]), [0, 1, 2])
    component = TwoBeta(5.0, 0.5, space="input").coefficients
    plan = component(data, torch.tensor([1, 2, 0]), Draws(torch.device("cpu"), seeded()))
    assert plan.tau.tolist() == [5.0, 5.0, 0.5]
    torch.testing.assert_close(plan.distance, torch.tensor([3 / 14, 6 / 7, 27 / 14]))


def test_pairs_of_average_distance_are_far() -> None:
    """Two points and their swap: both distances are the mean, d̄ = 1, which is not below 1."""
    data = batch(torch.tensor([[0.0], [2.0]]), [0, 1])
    plan = TwoBeta(space="input").coefficients(data, torch.tensor([1, 0]), Draws(torch.device("cpu")))
    assert plan.tau.tolist() == pytest.approx([0.1, 0.1])


def test_laws_of_both_kinds() -> None:
    """Each λ_i follows Beta(τ_i, τ_i): its own distribution function makes it uniform."""
    n = 4000
    plan = TwoBeta(5.0, 0.5, num_classes=2).plan(
        torch.zeros(n, 1),
        torch.zeros(n, dtype=torch.int64),
        embeddings=torch.randn(n, 3, generator=seeded()),
        generator=seeded(1),
    )
    for near, alpha in ((True, 5.0), (False, 0.5)):
        lam = plan.lam[(plan.distance < 1) == near]
        assert len(lam) > 1000
        assert stats.kstest(lam.numpy(), stats.beta(alpha, alpha).cdf).pvalue > 1e-3


def test_bad_settings_of_two_beta() -> None:
    with pytest.raises(ValueError, match="alpha_near must be > 0, got 0"):
        TwoBeta(0)
    with pytest.raises(ValueError, match="alpha_far must be > 0, got -1"):
        TwoBeta(1, -1)


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_one_law_for_eager_and_compiled_code(backend: str | None, seed: int | None) -> None:
    """All pairs are equally far, so λ ~ Beta(τ_max); a generator may break the graph, not the law."""
    n, method = 4096, SKMixup(2.0, num_classes=2)
    points, y = torch.eye(2).repeat(n // 2, 1), torch.zeros(n, dtype=torch.long)
    generator = None if seed is None else torch.Generator().manual_seed(seed)

    def coefficients() -> torch.Tensor:
        data = Batch(points, y, 2, points)
        return method.coefficients(data, ring(n), Draws(CPU, generator)).lam

    torch.manual_seed(5)
    lam = (coefficients if backend is None else torch.compile(coefficients, backend=backend))()
    assert stats.kstest(lam.numpy(), stats.beta(2.0, 2.0).cdf).pvalue > 1e-3
