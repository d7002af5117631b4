"""Plans of an epoch at once: the same as one by one, and only where they follow from the data alone."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from scipy import stats

from tailormix import METHODS, Method, Mixup, SKMixup, build_method
from tailormix.batch import Batch
from tailormix.coefficients import SimilarityKernel
from tailormix.data.access.memory import MemorySplit
from tailormix.draws import Draws
from tailormix.training.ahead import epoch_plans, plannable, plans
from tailormix.training.one_cpu import OneCPU
from tailormix.training.sampling import Sampler

CPU = torch.device("cpu")


def numbers(batches: int, n: int, width: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(batches, n, width, generator=generator), torch.randn(
        batches, n, 1, generator=generator
    )


def split(x: torch.Tensor, y: torch.Tensor, **options: Any) -> MemorySplit:
    return MemorySplit(x, y, torch.arange(len(x)), **options)


class Fixed(Draws):
    """The same uniforms for every batch."""

    u = torch.linspace(0.01, 0.99, 8)

    def uniform(self, *shape: int) -> torch.Tensor:
        return self.u.clone().view(shape)


@pytest.mark.parametrize("space", ["label", "input"])
@pytest.mark.parametrize("targets", [None, 2.0])
@pytest.mark.parametrize("size", [1.0, 1e-25, 1e25])  # squares that float32 does not hold
def test_the_kernel_gives_what_it_gives_one_by_one(space: str, targets: float | None, size: float) -> None:
    word = SimilarityKernel(0.7, 0.5, tau_max_targets=targets, space=space)
    x, y = (size * each for each in numbers(5, 8))
    partner = torch.tensor([3, 1, 7, 0, 2, 6, 4, 5])

    def draw(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        plan = word(Batch(x, y), partner, Fixed(CPU))
        return torch.stack((plan.lam, plan.for_targets.lam))

    together = torch.func.vmap(draw)(x, y)
    apart = torch.stack([draw(*each) for each in zip(x, y, strict=True)])
    torch.testing.assert_close(together, apart, rtol=0, atol=2e-6)
    assert (together[0] - together[1]).abs().max() > 0.01  # each batch has distances of its own


def test_plans_are_independent_and_have_their_laws() -> None:
    x, y = numbers(2000, 4)
    drawn = plans(Mixup(alpha=0.5), x, y)
    assert stats.kstest([plan.lam[0].item() for plan in drawn], stats.beta(0.5, 0.5).cdf).pvalue > 1e-3
    assert all(plan.lam.unique().numel() == 1 for plan in drawn)  # one for the batch
    firsts = torch.stack([plan.partner for plan in drawn])
    assert torch.equal(firsts.sort(1).values, torch.arange(4).expand(2000, 4))
    assert stats.chisquare(firsts[:, 0].bincount(minlength=4).numpy()).pvalue > 1e-3
    lams = torch.cat([plan.lam for plan in plans(SKMixup(tau_max=1.0, tau_std=1e6), x, y)])
    assert stats.kstest(lams.numpy(), stats.uniform.cdf).pvalue > 1e-3  # τ = 1 for every pair


def test_where_plans_may_come_first() -> None:
    x, y = (each.flatten(0, 1) for each in numbers(4, 8))
    able = {name for name in METHODS if plannable(build_method(name), split(x, y))}
    assert able == {"mixup", "sk-mixup", "manifold-mixup", "sk-manifold-mixup", "cutmix", "sk-cutmix"}
    classes = split(x, torch.arange(32) % 3)
    assert plannable(Mixup(), classes)
    assert not plannable(SKMixup(), classes)  # which needs embeddings there
    assert plannable(SKMixup(space="input"), classes)
    for method in (
        SKMixup(space="embedding"),
        SKMixup(space=torch.sin),
        SKMixup(sampling="exact"),
        SKMixup(sampling="direct"),
        SKMixup(kind="sigmoid"),
        SKMixup(partners="pool"),
    ):
        assert not plannable(method, split(x, y))
    assert not plannable(SKMixup(), split(x, y * torch.nan))
    assert not plannable(SKMixup(), split(x.repeat(2**14, 1), y.repeat(2**14, 1)))  # too many for one look


def test_many_classes_and_wrong_ones() -> None:
    x, _ = numbers(3, 4)
    y = torch.arange(12).view(3, 4) * 50
    for plan in plans(SKMixup(space="label", num_classes=600), x, y):
        assert plan.lam.isfinite().all()
    with pytest.raises(ValueError, match=r"y must lie in 0\.\.2 \(num_classes=3\), got 0\.\.550"):
        plans(SKMixup(space="label", num_classes=3), x, y)


def prepared(method: Method) -> Any:
    """As much of a run on 30 rows as planning looks at."""
    x, y = (each.flatten(0, 1)[:30] for each in numbers(4, 8))
    parts = SimpleNamespace(method=method, data=SimpleNamespace(train=split(x, y)))
    settings = SimpleNamespace(batch=8, seed=0)
    return SimpleNamespace(fabric=OneCPU(), parts=parts, settings=settings, sampler=Sampler(30, 8, seed=0))


def test_an_epoch_gets_a_plan_a_step_and_the_short_one_none() -> None:
    run = prepared(SKMixup())
    found = epoch_plans(run, 3)
    assert [plan is None for plan in found] == [False, False, False, True]  # 8 + 8 + 8 + 6 rows
    again, other = epoch_plans(run, 3), epoch_plans(run, 4)
    for plan, same, different in zip(found[:3], again[:3], other[:3], strict=True):
        assert plan is not None
        assert same is not None
        assert different is not None
        assert torch.equal(plan.lam, same.lam)
        assert not torch.equal(plan.lam, different.lam)
    assert epoch_plans(prepared(build_method("erm")), 3) == [None] * 4
