"""What a step costs: samples forwarded with and without gradient, for every method that has a loss."""

from __future__ import annotations

import pytest
import torch

from nets import Staged, seeded
from tailormix import METHODS, SKMixup, SKRegMixup, build_method
from tailormix import coefficients as c
from tailormix import interpolation as i
from tailormix import objectives as o
from tailormix import pairs as p
from tailormix.method import Method

N = 8
REAL = ("c-mixup",)
SETTINGS: dict[str, dict[str, object]] = {"remix": {"counts": (5, 1, 1)}}
# With and without gradient, in batches, at most: the published cost of each method.
ONE, MEASURED = (1, 0), (1, 1)
LIMITS = {
    "regmixup": (2, 0),
    "rankmixup": (4, 0),
    "rankmixup-mrl": (2, 0),
    "mit-l": (2, 0),
    "mit-a": (2, 0),
    "quantile-mixup": MEASURED,
    "two-beta": MEASURED,
    "sk-mixup": MEASURED,
    "sk-regmixup": (2, 1),
    "sk-cutmix": MEASURED,
    "sk-manifold-mixup": MEASURED,
}
PASSES = {
    "regmixup": [2],
    "rankmixup": [1, 3],
    "rankmixup-mrl": [1, 1],
    "mit-l": [1, 1],
    "mit-a": [2],
    "sk-regmixup": [1, 2],
}


def step(name: str) -> Staged:
    """A model after one step of a method."""
    images = "cutmix" in name
    model = Staged(inputs=3 * 4 * 4 if images else 4, outputs=1 if name in REAL else 3, flat=name in REAL)
    x = torch.randn(N, *((3, 4, 4) if images else (4,)), generator=seeded())
    y = torch.randn(N) if name in REAL else torch.arange(N) % 3
    method = build_method(name, **SETTINGS.get(name, {})).fit(x, y)
    method.loss(model, x, y).backward()
    return model


def cost(model: Staged) -> tuple[float, float]:
    """Batches forwarded with gradient, and without."""
    rows = [sum(n for n, graded in model.calls if graded is wanted) for wanted in (True, False)]
    return rows[0] / N, rows[1] / N


def said(passes: str) -> tuple[float, float]:
    """Batches with and without gradient in a text like ``n + 3n`` or ``n + n without gradient``.

    >>> said("n + 3n"), said("n + n without gradient")
    ((4, 0), (1, 1))
    """
    *graded, last = passes.removesuffix(" without gradient").split(" + ")
    if not passes.endswith(" without gradient"):
        return sum(map(times, (*graded, last))), 0
    return sum(map(times, graded)), times(last)


def times(term: str) -> int:
    assert term.endswith("n")
    return int(term[:-1] or 1)


@pytest.mark.parametrize("name", METHODS)
def test_cost_is_as_published_and_as_listed(name: str) -> None:
    found = cost(step(name))
    limit = LIMITS.get(name, ONE)
    assert found[0] <= limit[0]
    assert found[1] <= limit[1]
    assert found == said(METHODS[name].passes)


@pytest.mark.parametrize("name", PASSES)
def test_passes_keep_the_published_grouping(name: str) -> None:
    """BatchNorm sees what is forwarded together: RegMixup one pass of 2n, RankMixup n and then 3n."""
    assert [rows // N for rows, _ in step(name).calls] == PASSES[name]


def test_embeddings_are_measured_once_a_step() -> None:
    """Both pairs and coefficients ask for them, three times: SK RankMixup with quantile pairs."""
    method = Method(p.DistanceQuantile(0.5), c.SimilarityKernel(), i.Linear(), o.RankedConfidence(mixes=3))
    model = Staged()
    method.loss(model, torch.randn(N, 4), torch.arange(N) % 3)
    assert model.calls == [(N, True), (N, False), (3 * N, True)]


def test_no_pass_is_spent_where_embeddings_are_not_asked_for() -> None:
    x, y = torch.randn(N, 4), torch.arange(N) % 3
    for method in (SKMixup(space="input"), SKMixup(space="label", num_classes=3)):
        model = Staged()
        method.loss(model, x, y)
        assert model.calls == [(N, True)]
    model = Staged()
    plan = SKRegMixup().plan(x, y, embeddings=torch.randn(N, 2))
    SKRegMixup().loss(model, x, y, plan=plan)
    assert model.calls == [(2 * N, True)]
    real = Staged(outputs=1, flat=True)
    SKRegMixup().loss(real, x, torch.randn(N))
    assert real.calls == [(2 * N, True)]


@pytest.mark.parametrize("name", METHODS)
def test_gradients_reach_every_parameter(name: str) -> None:
    for parameter in step(name).parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()
        assert parameter.grad.any()


@pytest.mark.parametrize("name", METHODS)
def test_no_step_looks_at_values(name: str) -> None:
    """On the meta device tensors have no values: what would make a GPU wait fails here."""
    images, real = "cutmix" in name, name in REAL
    with torch.device("meta"):
        model = Staged(inputs=48 if images else 4, outputs=1 if real else 3, flat=real)
        x = torch.empty(N, *((3, 4, 4) if images else (4,)))
        y = torch.empty(N) if real else torch.empty(N, dtype=torch.int64)
        method = build_method(name, **SETTINGS.get(name, {}))
        loss = (method.fit(x, y) if real else method).loss(model, x, y)
    loss.backward()
    assert loss.shape == ()
    assert loss.device.type == "meta"


@pytest.mark.parametrize("name", [name for name in METHODS if name not in REAL and "cutmix" not in name])
@pytest.mark.parametrize(("n", "dtype"), [(1, torch.float32), (3, torch.float64), (5, torch.bfloat16)])
def test_any_batch_size_and_precision(name: str, n: int, dtype: torch.dtype) -> None:
    model = Staged().to(dtype)
    x, y = torch.randn(n, 4, generator=seeded()).to(dtype), torch.arange(n) % 3
    loss = build_method(name, **SETTINGS.get(name, {})).loss(model, x, y)
    loss.backward()
    assert loss.isfinite()
    assert all(p.grad.isfinite().all() for p in model.parameters())
