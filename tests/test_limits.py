"""Methods that become others in a limit: same draws, same results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from scipy import stats
from torch import nn

from nets import Staged, seeded
from tailormix import (
    METHODS,
    CMixup,
    CutMix,
    KMixup,
    ManifoldMixup,
    Method,
    Mixup,
    QuantileMixup,
    RegMixup,
    Remix,
    SKCutMix,
    SKMixup,
    SKRegMixup,
    TwoBeta,
)

if TYPE_CHECKING:
    from collections.abc import Callable

N = 12
X = torch.randn(N, 4, generator=seeded())
IMAGES = torch.randn(N, 3, 8, 8, generator=seeded())
Y = torch.arange(N) % 3
LABELS = torch.randn(N, generator=seeded(1))


def equal(a: Method, b: Method, x: torch.Tensor = X, y: torch.Tensor = Y) -> None:
    for seed in range(5):
        torch.testing.assert_close(a(x, y, generator=seeded(seed)), b(x, y, generator=seeded(seed)))


def drawn(method: Method, x: torch.Tensor, y: torch.Tensor, times: int, **more: torch.Tensor) -> torch.Tensor:
    """Partners of many draws, (times, n)."""
    generator = seeded(7)
    return torch.stack([method.plan(x, y, generator=generator, **more).partner for _ in range(times)])


def uniform(partners: torch.Tensor, among: int) -> None:
    """Every column of partners is uniform, by chi-square, with one test of all columns together."""
    counts = torch.stack([torch.bincount(column, minlength=among) for column in partners.T])
    expected = len(partners) / among
    statistic = float(((counts - expected) ** 2 / expected).sum())
    assert stats.chi2.sf(statistic, len(counts) * (among - 1)) > 1e-3


def test_k_mixup_with_groups_of_one_is_mixup() -> None:
    equal(KMixup(0.7, k=1, num_classes=3), Mixup(0.7, num_classes=3))


@pytest.mark.parametrize("per", ["batch", "sample"])
def test_remix_on_balanced_classes_is_mixup(per: str) -> None:
    equal(Remix(0.7, per=per, num_classes=3).fit(X, Y), Mixup(0.7, per=per, num_classes=3))


@pytest.mark.parametrize("alpha", [1.0, 0.3, 5.0])
def test_two_betas_of_one_shape_are_mixup_per_sample(alpha: float) -> None:
    equal(TwoBeta(alpha, alpha, space="input", num_classes=3), Mixup(alpha, per="sample", num_classes=3))


def test_a_wide_kernel_is_mixup_per_sample() -> None:
    equal(SKMixup(0.7, 1e6, space="input", num_classes=3), Mixup(0.7, per="sample", num_classes=3))


def test_a_wide_kernel_is_cutmix_with_a_box_for_each_pair() -> None:
    wide, plain = SKCutMix(0.7, 1e6, space="input", num_classes=3), CutMix(0.7, per="sample", num_classes=3)
    equal(wide, plain, x=IMAGES)


@pytest.mark.parametrize("norm", [nn.BatchNorm1d, lambda width: nn.GroupNorm(2, width)])
def test_a_wide_kernel_makes_sk_regmixup_regmixup(norm: Callable[[int], nn.Module]) -> None:
    """Losses, gradients and running statistics, with BatchNorm and without."""
    ours, plain = Staged(norm=norm), Staged(norm=norm)
    plain.load_state_dict(ours.state_dict())
    for seed in range(5):
        losses = [
            SKRegMixup(10.0, 1e6).loss(ours, X, Y, generator=seeded(seed)),
            RegMixup(10.0, per="sample").loss(plain, X, Y, generator=seeded(seed)),
        ]
        torch.testing.assert_close(*losses)
        torch.stack(losses).sum().backward()
    torch.testing.assert_close([p.grad for p in ours.parameters()], [p.grad for p in plain.parameters()])
    torch.testing.assert_close(dict(ours.named_buffers()), dict(plain.named_buffers()))


@pytest.mark.parametrize(("q", "side"), [(1.0, "lower"), (0.0, "higher")])
def test_without_a_limit_quantile_partners_are_uniform(q: float, side: str) -> None:
    """Higher 0 leaves out only pairs at distance 0, but oneself is always admissible."""
    uniform(drawn(QuantileMixup(q, side, space="input"), X, Y, 1000), among=N)


@pytest.mark.parametrize(("q", "side"), [(0.0, "lower"), (1.0, "higher")])
@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_with_the_strictest_limit_everybody_stays_alone(q: float, side: str, n: int) -> None:
    x = torch.randn(n, 3, generator=seeded(n)) + 10
    partners = drawn(QuantileMixup(q, side, space="input"), x, torch.zeros(n, dtype=torch.int64), 20)
    assert partners.equal(torch.arange(n).expand(20, n))


def test_c_mixup_with_a_wide_bandwidth_is_uniform() -> None:
    uniform(drawn(CMixup(bandwidth=1e4).fit(X, LABELS), X, LABELS, 1000), among=N)


def test_c_mixup_with_a_tiny_bandwidth_pairs_ties_only() -> None:
    """Each label three times: partners are uniform over one's ties, oneself included."""
    y = torch.arange(N) % 4 + 120.0
    partners = drawn(CMixup(bandwidth=1e-6).fit(X, y), X, y, 1000)
    assert (partners % 4).equal((torch.arange(N) % 4).expand(1000, N))
    uniform(partners // 4, among=3)


@pytest.mark.parametrize("build", [Mixup, CutMix, ManifoldMixup, RegMixup])
def test_alpha_zero_leaves_the_clean_batch(build: object) -> None:
    """λ = 1: the loss is that of plain training."""
    model = Staged(inputs=3 * 8 * 8)
    loss = build(0.0).loss(model, IMAGES, Y)
    torch.testing.assert_close(loss, nn.functional.cross_entropy(model(IMAGES), Y))


def test_cutmix_without_mixing_is_the_identity() -> None:
    for method in (CutMix(0.0, num_classes=3), CutMix(probability=0.0, num_classes=3)):
        x, y = method(IMAGES, Y)
        assert x.equal(IMAGES)
        assert y.equal(nn.functional.one_hot(Y, 3).float())


LAWS = {
    "mixup": 1.0,
    "cutmix": 1.0,
    "k-mixup": 1.0,
    "local-mixup": 1.0,
    "remix": 1.0,
    "regmixup": 10.0,
    "rankmixup": 2.0,
    "rankmixup-mrl": 2.0,
    "manifold-mixup": 1.0,
    "c-mixup": 1.0,
}


@pytest.mark.parametrize("name", LAWS)
def test_coefficients_follow_their_beta(name: str) -> None:
    """One λ for the whole batch, from Beta(α, α) with the method's own default α."""
    settings = (
        {"counts": (1, 1, 1)} if name == "remix" else {"partners": "batch"} if name == "c-mixup" else {}
    )
    method, generator = METHODS[name].build(**settings), seeded(3)
    y = LABELS if name == "c-mixup" else Y
    plans = [method.plan(X, y, generator=generator) for _ in range(600)]
    assert all(plan.lam.unique().numel() == 1 for plan in plans)
    lam = torch.stack([plan.lam[0] for plan in plans]).numpy()
    assert stats.kstest(lam, stats.beta(LAWS[name], LAWS[name]).cdf).pvalue > 1e-3
