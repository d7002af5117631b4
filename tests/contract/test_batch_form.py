"""What every batch form promises, for every named method."""

import random

import numpy as np
import pytest
import torch

from contract.cases import ALL, BATCH_FORM, CLASSES, INPUTS, REAL, STILL, TARGETS, Case, data, kinds, seeded
from tailormix import Plan
from tailormix.batch import one_hot
from tailormix.interpolation import Identity, Linear

every = pytest.mark.parametrize("case", BATCH_FORM, ids=str)
HAVING_ONE = [case for case in ALL if case in BATCH_FORM or not case.takes("indices")]


def expected_rows(y: torch.Tensor) -> torch.Tensor:
    return y if y.is_floating_point() else one_hot(y, CLASSES)


@pytest.mark.parametrize(("case", "targets"), kinds(HAVING_ONE, TARGETS), ids=str)
def test_shapes_and_dtypes(case: Case, targets: str) -> None:
    for inputs in (kind for kind in INPUTS if case.takes(targets, kind)):
        method = case.method(targets, inputs)
        for n in (1, 2, 3, 128):
            x, y, h = data(n, inputs, targets)
            before = x.clone(), y.clone(), h.clone()
            mixed, soft = method(x, y, h, generator=seeded())
            assert (mixed.shape, mixed.dtype) == (x.shape, x.dtype)
            assert (soft.shape, soft.dtype) == (expected_rows(y).shape, torch.float32)
            assert bool(mixed.isfinite().all())
            assert bool(soft.isfinite().all())
            if targets not in REAL:
                torch.testing.assert_close(soft.sum(1), torch.ones(n))
            assert all(torch.equal(a, b) for a, b in zip((x, y, h), before, strict=True))


@every
def test_mixtures_lie_between(case: Case) -> None:
    x, y, h = data(40)
    plan = case.method().plan(x, y, h, generator=seeded())
    for lam in (plan.lam, plan.for_targets.lam):
        assert lam.shape == (40,)
        assert bool(((lam >= 0) & (lam <= 1)).all())
    assert plan.partner.dtype == torch.long
    assert bool(((plan.partner >= 0) & (plan.partner < 40)).all())
    mixed, _ = case.method()(x, y, h, generator=seeded())
    assert bool(((mixed >= 0) & (mixed <= 1)).all())


@every
def test_one_seed_one_result(case: Case) -> None:
    x, y, h = data(30)
    method = case.method()
    first, again, other = (method(x, y, h, generator=seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(first[0], again[0])
    assert torch.equal(first[1], again[1])
    still = case.name in STILL or ("alpha", 0.0) in case.settings
    assert torch.equal(first[0], other[0]) == still


@every
def test_plans_are_what_the_batch_form_carries_out(case: Case) -> None:
    x, y, h = data(30)
    method = case.method()
    plan = method.plan(x, y, h, generator=seeded(1))
    drawn, planned = method(x, y, h, generator=seeded(1)), method(x, y, plan=plan, generator=seeded(1))
    if isinstance(method.interpolation, (Linear, Identity)):  # others draw where to mix
        assert torch.equal(drawn[0], planned[0])
        assert torch.equal(drawn[1], planned[1])
    assert planned[0].shape == drawn[0].shape


@every
def test_random_states_of_others(case: Case) -> None:
    x, y, h = data(8)
    method = case.method()
    python, numpy, torchs = random.getstate(), np.random.get_state(), torch.random.get_rng_state()  # noqa: NPY002
    method(x, y, h, generator=seeded())
    assert torch.equal(torch.random.get_rng_state(), torchs)
    method(x, y, h)
    assert random.getstate() == python
    now = np.random.get_state()  # noqa: NPY002
    assert all(np.array_equal(a, b) for a, b in zip(now, numpy, strict=True))


@pytest.mark.parametrize(("case", "targets"), kinds(HAVING_ONE, ("indices", "soft", "vectors")), ids=str)
def test_on_the_meta_device(case: Case, targets: str) -> None:
    """Tensors without values: whoever looks at one, or asks for its number, fails here."""
    x, y, h = (value.to("meta") for value in data(6, "images", targets))
    method = case.method(targets, "images")
    if method.pool is not None:
        method = method.fit(method.pool.x.to("meta"), method.pool.y.to("meta"))
    mixed, soft = method(x, y, h)
    assert mixed.is_meta
    assert soft.is_meta
    assert mixed.shape == x.shape


@every
def test_other_precisions(case: Case) -> None:
    x, y, h = data(8)
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        method = case.method()
        if method.pool is not None:
            method = method.fit(method.pool.x.to(dtype), method.pool.y)
        mixed, _ = method(x.to(dtype), y, h.to(dtype), generator=seeded())
        assert mixed.dtype == dtype
        assert bool(mixed.isfinite().all())


@every
def test_channels_last(case: Case) -> None:
    x, y, h = data(8, "images")
    method = case.method("indices", "images")
    x = x.to(memory_format=torch.channels_last)
    mixed, _ = method(x, y, h, generator=seeded())
    if method.pool is None:
        assert mixed.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(mixed, method(x.contiguous(), y, h, generator=seeded())[0])


@pytest.mark.parametrize(("case", "targets"), kinds(HAVING_ONE, ("indices", "soft", "vectors")), ids=str)
def test_lambda_one_is_the_identity(case: Case, targets: str) -> None:
    x, y, h = data(9, "images", targets)
    plan = Plan(torch.arange(9).roll(1), torch.ones(9))
    mixed, soft = case.method(targets, "images")(x, y, h, plan=plan)
    assert torch.equal(mixed, x)
    assert torch.equal(soft, expected_rows(y))


@every
def test_soft_targets_go_into_cross_entropy(case: Case) -> None:
    x, y, h = data(9)
    _, soft = case.method()(x, y, h)
    assert torch.nn.functional.cross_entropy(torch.rand(9, CLASSES), soft).isfinite()


@every
def test_class_indices_need_num_classes(case: Case) -> None:
    method = case.method("real")
    x, y, h = data(4)
    with pytest.raises(ValueError, match="num_classes is needed to turn class indices into soft targets"):
        method(x, y, h)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_methods_that_need_the_model_say_so(case: Case) -> None:
    targets = "indices" if case.takes("indices") else "column"
    x, y, h = data(4, targets=targets)
    method = case.method(targets)
    if method.batch_form:
        assert len(method(x, y, h)) == 2
    else:
        with pytest.raises(TypeError, match=r"use .loss\(model, x, y, criterion\)"):
            method(x, y, h)
