"""What every loss promises, whatever its formula."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from losses.cases import SOFT, call, make, mixed
from tailormix.losses import LOSSES

SCALARS = {"mmce", "mmce-w"}
every = pytest.mark.parametrize("name", LOSSES)
every_soft = pytest.mark.parametrize("name", SOFT)
#: every loss with class indices, and every loss that takes rows of probabilities with those
both = pytest.mark.parametrize(("name", "soft"), [(n, False) for n in LOSSES] + [(n, True) for n in SOFT])


def batch(
    n: int = 6, classes: int = 4, seed: int = 0, soft: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    draws = torch.Generator().manual_seed(seed)
    logits = torch.randn(n, classes, generator=draws, dtype=torch.float64) * 2
    y = torch.randint(classes, (n,), generator=draws)
    if soft:
        return logits, mixed(y, torch.arange(5, -1, -1), [0.3, 0.9, 0.0, 1.0, 0.5, 0.7], 4)
    return logits, y


@every
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("classes", [2, 3])
def test_shape_is_one_loss_per_sample_or_a_scalar(name: str, n: int, classes: int) -> None:
    logits, y = batch(n, classes)
    loss = call(make(name), logits, y)
    assert loss.shape == (() if name in SCALARS else (n,))
    assert loss.dtype == torch.float64
    assert loss.isfinite().all()


@both
def test_gradient(name: str, soft: bool) -> None:
    """The batch is in general position: no tie, no hinge at its corner, both kinds of γ in FLSD."""
    logits, targets = batch(soft=soft)
    loss = make(name)
    assert torch.autograd.gradcheck(lambda z: call(loss, z, targets), logits.requires_grad_())


@every
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_and_autocast_are_computed_in_float32(name: str, dtype: torch.dtype) -> None:
    logits, y = batch()
    loss = make(name)
    low = call(loss, logits.to(dtype), y)
    assert low.dtype == torch.float32
    torch.testing.assert_close(low, call(loss, logits.to(dtype).float(), y))
    with torch.autocast("cpu", dtype):
        low = call(loss, logits.float(), y)
    torch.testing.assert_close(low, call(loss, logits.float(), y))


@every_soft
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_rows_are_accepted(name: str, dtype: torch.dtype) -> None:
    logits, rows = batch(soft=True)
    loss = make(name)
    low = call(loss, logits.float(), rows.to(dtype))
    torch.testing.assert_close(low, call(loss, logits.float(), rows.float()), rtol=0.02, atol=0.02)


@both
def test_runs_without_reading_values(name: str, soft: bool) -> None:
    """The meta device has no values, so that reading one would raise."""
    logits = torch.empty(6, 4, device="meta", requires_grad=True)
    shape, dtype = ((6, 4), torch.float32) if soft else ((6,), torch.long)
    loss = make(name).to("meta").train()
    call(loss, logits, torch.empty(shape, dtype=dtype, device="meta")).sum().backward()
    assert logits.grad is not None
    assert logits.grad.shape == (6, 4)


@every
def test_compiles_to_one_graph(name: str) -> None:
    """Three steps, compiled once: values, gradients and state are those of plain execution.

    CRL's history moves between the steps, and between a forward pass and its backward pass.
    """
    torch.compiler.reset()
    plain, inner = make(name).train(), make(name).train()
    compiled = torch.compile(lambda z, t: call(inner, z, t), fullgraph=True, backend="aot_eager")
    for seed in range(3):
        logits, y = batch(seed=seed)
        logits.requires_grad_()
        with torch.compiler.set_stance("fail_on_recompile" if seed else "default"):
            actual = compiled(logits, y)
        expected = call(plain, logits, y)
        torch.testing.assert_close(actual, expected)
        torch.testing.assert_close(*(torch.autograd.grad(v.sum(), logits)[0] for v in (actual, expected)))
        torch.testing.assert_close(dict(inner.state_dict()), dict(plain.state_dict()))


@every_soft
def test_one_hot_rows_are_class_indices(name: str) -> None:
    logits, y = batch()
    loss = make(name)
    rows = torch.nn.functional.one_hot(y, 4)
    torch.testing.assert_close(call(loss, logits, rows), call(loss, logits, y))
    torch.testing.assert_close(call(loss, logits, rows.half()), call(loss, logits, y))


@pytest.mark.parametrize("name", [name for name in SOFT if name not in SCALARS])
def test_rows_give_the_expected_loss_of_a_label_drawn_from_them(name: str) -> None:
    logits, rows = batch(soft=True)
    loss = make(name)
    classes = [call(loss, logits, torch.full((6,), c)) for c in range(4)]
    torch.testing.assert_close(call(loss, logits, rows), (rows * torch.stack(classes, 1)).sum(1))


@every
@pytest.mark.parametrize("kind", [torch.uint8, torch.int8, torch.int16, torch.int32])
def test_indices_of_any_whole_type(name: str, kind: torch.dtype) -> None:
    logits, y = batch()
    loss = make(name)
    torch.testing.assert_close(call(loss, logits, y.to(kind)), call(loss, logits, y))


logit = st.one_of(st.floats(-5, 5, width=32), st.sampled_from([-1e4, 1e4]))


@st.composite
def batches(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Draw logits (n, C), some saturated; class indices; rows that mix the batch with itself reversed."""
    n, classes = draw(st.integers(1, 6)), draw(st.integers(2, 5))
    row = st.lists(logit, min_size=classes, max_size=classes)
    logits = torch.tensor(draw(st.lists(row, min_size=n, max_size=n)), dtype=torch.float32)
    y = torch.tensor(draw(st.lists(st.integers(0, classes - 1), min_size=n, max_size=n)))
    lam = draw(st.lists(st.floats(0, 1), min_size=n, max_size=n))
    return logits, y, mixed(y, torch.arange(n - 1, -1, -1), lam, classes).float()


@every
@given(drawn=batches(), soft=st.booleans())
def test_finite_with_finite_gradient_and_bounded_below(
    name: str, drawn: tuple[torch.Tensor, torch.Tensor, torch.Tensor], soft: bool
) -> None:
    """All losses are ≥ 0 except ECP's, which is ≥ -α·log C."""
    logits, y, rows = drawn
    logits.requires_grad_()
    loss = call(make(name), logits, rows if soft and LOSSES[name].soft_targets else y)
    loss.sum().backward()
    assert loss.isfinite().all()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    least = -0.1 * torch.tensor(logits.shape[1]).log() if name == "ecp" else 0.0
    assert (loss >= least - 1e-5).all()


@pytest.mark.parametrize("name", SOFT)
@given(drawn=batches(), soft=st.booleans(), data=st.data())
def test_order_of_samples_does_not_matter(
    name: str, drawn: tuple[torch.Tensor, torch.Tensor, torch.Tensor], soft: bool, data: st.DataObject
) -> None:
    """CRL is left out: it compares neighbours in the batch."""
    logits, y, rows = drawn
    order = torch.tensor(data.draw(st.permutations(range(len(y)))))
    targets, loss = (rows if soft else y), make(name)
    before, after = call(loss, logits, targets), call(loss, logits[order], targets[order])
    torch.testing.assert_close(after, before if name in SCALARS else before[order])
