"""How strongly: laws, limits, and settings that are refused."""

import copy
import math
import pickle
from typing import Any

import pytest
import torch
from scipy import stats
from tailormix.draws import Draws

from tailormix import Mixup, MixupIO, MixupTO, SKMixup, WarpedMixup, warp
from tailormix.batch import Batch
from tailormix.coefficients import Beta, Constant, InputsOnly, SimilarityKernel, TargetsOnly, Warped

CPU = torch.device("cpu")


def draws(seed: int = 0) -> Draws:
    return Draws(CPU, torch.Generator().manual_seed(seed))


def uniforms(n: int, seed: int = 0) -> torch.Tensor:
    """Where the draws of a seed lie in their laws."""
    return torch.special.ndtr(torch.randn(n, generator=torch.Generator().manual_seed(seed)))


def batch(n: int, points: torch.Tensor | None = None, classes: int | None = 2) -> Batch:
    return Batch(torch.rand(n, 2), torch.zeros(n, dtype=torch.long), classes, points)


def ring(n: int) -> torch.Tensor:
    return torch.arange(n).roll(1)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 4.0])
def test_beta_per_sample_has_its_law(alpha: float) -> None:
    lam = Beta(alpha, "sample")(batch(20_000), ring(20_000), draws()).lam.double().numpy()
    lower = lam[(lam > 1e-37) & (lam < 0.5)]
    assert stats.kstest(lower, lambda x: 2 * stats.beta.cdf(x, alpha, alpha)).pvalue > 1e-3
    assert (lam > 0.5).mean() == pytest.approx(0.5, abs=0.02)


def test_beta_per_batch_is_one_draw() -> None:
    lam = Beta(0.5)(batch(10), ring(10), draws()).lam
    assert lam.unique().numel() == 1
    torch.testing.assert_close(lam[:1], warp(uniforms(1), 0.5, exact=True), rtol=0, atol=1e-5)
    assert Beta(0.0)(batch(3), ring(3), draws()).lam.tolist() == [1.0] * 3


def test_constant() -> None:
    assert Constant(0.25)(batch(3), ring(3), draws()).lam.tolist() == [0.25] * 3
    with pytest.raises(ValueError, match=r"lam must lie in \[0, 1\], got 2"):
        Constant(2)


@pytest.mark.parametrize("kind", ["inverse_beta", "beta", "sigmoid"])
def test_warped_uses_one_draw_for_both(kind: str) -> None:
    plan = Warped(0.3, 2.0, "sample", kind)(batch(50), ring(50), draws())
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
    plan = InputsOnly(inner)(batch(2), ring(2), draws())
    assert (plan.lam[0].item(), plan.for_targets.lam.tolist()) == (pytest.approx(0.7), [1.0, 1.0])
    plan = TargetsOnly(Constant(0.3))(batch(2), ring(2), draws())
    assert (plan.lam.tolist(), plan.for_targets.lam[0].item()) == ([0.0, 0.0], pytest.approx(0.3))


@pytest.mark.parametrize("kind", ["inverse_beta", "beta", "sigmoid"])
@pytest.mark.parametrize("tau_max", [0.1, 1.0, 5.0])
def test_equal_distances_are_plain_beta_mixing(tau_max: float, kind: str) -> None:
    """One-hot rows are equally far from each other; a ring has no self-pairs, whose distance would be 0."""
    n = 16
    kernel, points = SimilarityKernel(tau_max, 0.25, kind=kind), batch(n, torch.eye(n))
    plan = kernel.explain(points, ring(n), draws())
    assert plan.distance is not None
    assert plan.distance.tolist() == [1.0] * n
    plain = Warped(tau_max, per="sample", kind=kind)(points, ring(n), draws())
    torch.testing.assert_close(plan.lam, plain.lam, rtol=0, atol=5e-6 if tau_max == 1 else 3e-7)
    expected = warp(uniforms(n), torch.full((n,), tau_max), kind, exact=True)
    torch.testing.assert_close(plan.lam, expected, rtol=0, atol=3e-5)


def test_self_pairs_are_mixed_most() -> None:
    """Two of four are their own partners: d̄ = 0, 0, 2, 2, so τ = e^{±8} at τ_std = ¼."""
    points = batch(4, torch.eye(4))
    partner = torch.tensor([0, 1, 3, 2])
    assert SimilarityKernel()(points, partner, draws()).tau is None  # nobody asked
    plan = SimilarityKernel().explain(points, partner, draws())
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
    plan = SimilarityKernel(0.0)(batch(64, torch.randn(64, 3)), ring(64), draws())
    assert set(plan.lam.tolist()) <= {0.0, 0.5, 1.0}


def test_targets_may_have_their_own_kernel() -> None:
    n, points = 20, torch.randn(20, 3)
    apart = SimilarityKernel(1.0, 0.5, tau_max_targets=0.2, tau_std_targets=2.0)(
        batch(n, points), ring(n), draws()
    )
    inputs = SimilarityKernel(1.0, 0.5)(batch(n, points), ring(n), draws())
    targets = SimilarityKernel(0.2, 2.0)(batch(n, points), ring(n), draws())
    assert torch.equal(apart.lam, inputs.lam)
    assert torch.equal(apart.for_targets.lam, targets.lam)
    only_max = SimilarityKernel(1.0, 0.5, tau_max_targets=0.2)(batch(n, points), ring(n), draws())
    assert torch.equal(
        only_max.for_targets.lam, SimilarityKernel(0.2, 0.5)(batch(n, points), ring(n), draws()).lam
    )


@pytest.mark.parametrize("sampling", ["warp", "exact", "direct"])
@pytest.mark.parametrize("tau_max", [1e-8, 0.5, 2.0, 1e8])
def test_all_samplings_have_one_law(tau_max: float, sampling: str) -> None:
    n = 4096
    points = torch.eye(2).repeat(n // 2, 1)  # neighbours in a ring are all equally far
    lam = (
        SimilarityKernel(tau_max, sampling=sampling)(batch(n, points), ring(n), draws()).lam.double().numpy()
    )
    for threshold in (0.01, 0.4, 0.6, 0.99):
        expected = stats.beta.cdf(threshold, tau_max, tau_max)
        assert (lam <= threshold).mean() == pytest.approx(expected, abs=5 * math.sqrt(0.25 / n))


def test_spaces() -> None:
    x, y = torch.rand(6, 3), torch.tensor([0, 1, 2, 0, 1, 2])
    embeddings = torch.randn(6, 4)

    def distance(space: Any, y: torch.Tensor = y, classes: int | None = 3) -> torch.Tensor:
        points = Batch(x, y, classes, embeddings)
        found = SimilarityKernel(space=space).explain(points, ring(6), draws()).distance
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
    with pytest.raises(ValueError, match=r"space must return 4 rows, one a sample, got \(1, 3\)"):
        SKMixup(space=lambda x: x[:1], num_classes=2)(x, y)


def test_label_space_of_class_indices_needs_their_number() -> None:
    with pytest.raises(ValueError, match="space='label' with class indices needs num_classes"):
        SimilarityKernel(space="label")(batch(4, classes=None), ring(4), draws())


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
def test_bad_settings(build: Any, error: type[Exception], message: str) -> None:
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
    assert set(Beta(alpha, per="sample")(batch(32), ring(32), draws()).lam.tolist()) == values


def test_a_draw_without_shape_is_a_number() -> None:
    assert Draws(torch.device("cpu")).uniform().shape == ()


def test_a_kernel_is_sent_without_what_it_keeps() -> None:
    kernel = SimilarityKernel(0.5, 0.3, tau_max_targets=2.0, space="label")
    sent = pickle.loads(pickle.dumps(kernel))
    assert sent == kernel
    assert b"torch" not in pickle.dumps(kernel)
    assert copy.deepcopy(kernel)(batch(4, classes=2), ring(4), draws()).lam.shape == (4,)
