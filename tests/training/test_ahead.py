"""Batches of an epoch mixed at once: as if one by one, and only where they follow from the data alone."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from scipy import stats
from torch import nn

from tailormix import METHODS, Method, Mixup, SKMixup, WarpedMixup, build_method, losses
from tailormix.batch import Batch, Plan
from tailormix.coefficients import SimilarityKernel
from tailormix.data.splits import MemorySplit
from tailormix.draws import Draws
from tailormix.method import Step
from tailormix.objectives import CleanTargets, MixedTargets
from tailormix.objectives.reduction import cross_entropy, squared_error
from tailormix.training import ahead
from tailormix.training.ahead import mixable, mixed, mixed_epoch, plain_step
from tailormix.training.one_cpu import OneCPU
from tailormix.training.seeding import Sampler

CPU = torch.device("cpu")


def numbers(batches: int, n: int, width: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(batches, n, width, generator=generator), torch.randn(
        batches, n, 1, generator=generator
    )


def split(x: torch.Tensor, y: torch.Tensor, **options: Any) -> MemorySplit:
    return MemorySplit(x, y, torch.arange(len(x)), **options)


class Doubled:
    """An objective of somebody else's, with a batch form."""

    batch_form = True

    def __call__(self, *arguments: Any) -> torch.Tensor:
        return 2 * MixedTargets()(*arguments)


class Fixed(Draws):
    """The same levels for every batch."""

    def levels(self, n: int) -> torch.Tensor:
        return torch.linspace(-2.5, 2.5, n)


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


def drawn(method: Method, x: torch.Tensor, y: torch.Tensor) -> list[Plan]:
    """The plan behind each batch, its partners counted within the batch."""
    plan = ahead._plans(method, x, y)
    n = x.shape[1]
    fields = zip(plan.partner.split(n), plan.lam.split(n), plan.for_targets.lam.split(n), strict=True)
    return [Plan(partner - k * n, *lams) for k, (partner, *lams) in enumerate(fields)]


def test_plans_are_independent_and_have_their_laws() -> None:
    x, y = numbers(2000, 4)
    plans = drawn(Mixup(alpha=0.5), x, y)
    assert stats.kstest([plan.lam[0].item() for plan in plans], stats.beta(0.5, 0.5).cdf).pvalue > 1e-3
    assert all(plan.lam.unique().numel() == 1 for plan in plans)  # one for the batch
    firsts = torch.stack([plan.partner for plan in plans])
    assert torch.equal(firsts.sort(1).values, torch.arange(4).expand(2000, 4))
    assert stats.chisquare(firsts[:, 0].bincount(minlength=4).numpy()).pvalue > 1e-3
    lams = torch.cat([plan.lam for plan in drawn(SKMixup(tau_max=1.0, tau_std=1e6), x, y)])
    assert stats.kstest(lams.numpy(), stats.uniform.cdf).pvalue > 1e-3  # τ = 1 for every pair


@pytest.mark.parametrize(
    ("method", "classes"),
    [
        (Mixup(alpha=0.5), 0),
        (Mixup(num_classes=3), 3),
        (SKMixup(tau_max=2.0, tau_max_targets=0.5), 0),
        (SKMixup(space="input", num_classes=3, tau_max_targets=0.5), 3),
    ],
    ids=["mixup", "mixup of classes", "two kernels", "two kernels of classes"],
)
def test_batches_are_what_the_batch_form_makes_of_the_same_plans(method: Method, classes: int) -> None:
    x, y = numbers(5, 8)
    if classes:
        y = torch.arange(40).view(5, 8) % classes
    torch.manual_seed(0)
    plans = drawn(method, x, y)
    torch.manual_seed(0)
    found = mixed(method, x, y)
    assert len(found) == 5
    for plan, (inputs, targets), *batch in zip(plans, found, x, y, strict=True):
        expected = method(*batch, plan=plan)
        assert torch.equal(inputs, expected[0])
        assert torch.equal(targets, expected[1])


def test_where_batches_may_be_mixed_before() -> None:
    x, y = (each.flatten(0, 1) for each in numbers(4, 8))
    able = {name for name in METHODS if mixable(build_method(name), split(x, y), squared_error)}
    assert able == {"mixup", "sk-mixup"}
    classes = split(x, torch.arange(32) % 3)
    assert mixable(Mixup(num_classes=3), classes, cross_entropy)
    assert not mixable(Mixup(), classes, cross_entropy)  # how wide are the soft rows?
    assert not mixable(Mixup(num_classes=2**16), classes, cross_entropy)  # too wide for all at once
    assert not mixable(
        Mixup(num_classes=3), classes, losses.build("crl", size=32)
    )  # to which ids are to be told
    assert not mixable(SKMixup(num_classes=3), classes, None)  # which needs embeddings there
    assert mixable(SKMixup(space="input", num_classes=3), classes, None)
    for method in (
        replace(Mixup(), objective=CleanTargets()),  # which learns nothing from them
        replace(Mixup(), objective=Doubled()),
        SKMixup(space="embedding"),
        SKMixup(space=torch.sin),
        SKMixup(sampling="exact"),
        SKMixup(sampling="direct"),
        SKMixup(kind="sigmoid"),
        SKMixup(partners="pool"),
        WarpedMixup(),
    ):
        assert not mixable(method, split(x, y), None)
    assert not mixable(SKMixup(), split(x, y * torch.nan), None)
    assert not mixable(SKMixup(), split(x.repeat(2**14, 1), y.repeat(2**14, 1)), None)  # too many


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (torch.zeros(3, 4, dtype=torch.bool), TypeError, "y must hold class indices or real numbers"),
        (torch.zeros(3, 4), ValueError, r"soft targets must have shape \(12, 3\), got \(12,\)"),
        (torch.zeros(3, 4, 5), ValueError, r"soft targets must have shape \(12, 3\), got \(12, 5\)"),
        (torch.zeros(3, 4, 1).long(), ValueError, r"class indices must have shape \(n,\)"),
        (torch.full((3, 4), 3), ValueError, r"y must lie in 0..2 \(num_classes=3\), got 3..3"),
    ],
)
def test_bad_targets_are_refused_as_in_a_step(y: torch.Tensor, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        mixed(Mixup(num_classes=3), numbers(3, 4)[0], y)


def test_many_classes_and_wrong_ones() -> None:
    x, _ = numbers(3, 4)
    y = torch.arange(12).view(3, 4) * 50
    for _, targets in mixed(SKMixup(space="label", num_classes=600), x, y):
        torch.testing.assert_close(targets.sum(1), torch.ones(4))
    with pytest.raises(ValueError, match=r"y must lie in 0\.\.2 \(num_classes=3\), got 0\.\.550"):
        mixed(SKMixup(space="label", num_classes=3), x, y)


@pytest.mark.parametrize("criterion", [None, losses.build("focal"), nn.CrossEntropyLoss()])
def test_what_is_learned_from_a_mixed_batch_is_what_the_step_would_learn(criterion: Any) -> None:
    method, model = SKMixup(space="input", num_classes=3), nn.Linear(3, 3)
    (x,), (y,) = numbers(1, 8)[0], torch.arange(8)[None] % 3
    plan, step = method.plan(x, y), Step(model, method, criterion)
    torch.testing.assert_close(plain_step(step)(*method(x, y, plan=plan)), step(x, y, plan=plan))
    real = Step(nn.Linear(3, 1), SKMixup())
    (z,) = numbers(1, 8)[1]
    plan = real.method.plan(x, z)
    torch.testing.assert_close(plain_step(real)(*real.method(x, z, plan=plan)), real(x, z, plan=plan))


def test_a_model_with_another_number_of_classes_gets_the_same_error() -> None:
    method = Mixup(num_classes=3)
    (x,), (y,) = numbers(1, 8)[0], torch.arange(8)[None] % 3
    with pytest.raises(ValueError, match="the model returns 4 logits, but num_classes is 3"):
        plain_step(Step(nn.Linear(3, 4), method))(*method(x, y))


def prepared(method: Method) -> Any:
    """As much of a run on 30 rows as mixing looks at."""
    x, y = (each.flatten(0, 1)[:30] for each in numbers(4, 8))
    parts = SimpleNamespace(method=method, criterion=squared_error, data=SimpleNamespace(train=split(x, y)))
    settings = SimpleNamespace(batch=8, seed=0)
    return SimpleNamespace(fabric=OneCPU(), parts=parts, settings=settings, sampler=Sampler(30, 8, seed=0))


def test_an_epoch_has_its_whole_batches_mixed_but_not_the_short_one() -> None:
    run = prepared(SKMixup())
    found = mixed_epoch(run, 3)
    assert len(found) == 3  # 8 + 8 + 8, and 6 rows are left
    again, other = mixed_epoch(run, 3), mixed_epoch(run, 4)
    for (x, y), same, different in zip(found, again, other, strict=True):
        assert x.shape == (8, 3)
        assert y.shape == (8, 1)
        assert torch.equal(x, same[0])
        assert torch.equal(y, same[1])
        assert not torch.equal(x, different[0])
    assert mixed_epoch(prepared(build_method("erm")), 3) == []
