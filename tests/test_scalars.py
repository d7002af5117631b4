"""Numbers kept as tensors: they change the cost of an operation and nothing else."""

import pytest
import torch

from tailormix.scalars import scalar


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("value", [1.0, 0.1, 1e30])
def test_same_result_as_with_the_number_itself(dtype: torch.dtype, value: float) -> None:
    a = torch.rand(5).to(dtype)
    kept = scalar(value, a)
    for mine, plain in ((a * kept, a * value), (kept - a, value - a), (a / kept, a / value)):
        assert mine.dtype == dtype
        assert torch.equal(mine, plain)


def test_one_tensor_serves_all_calls() -> None:
    a = torch.rand(2)
    assert scalar(0.25, a) is scalar(0.25, torch.rand(3))
    assert scalar(0.25, a) is not scalar(0.25, a.double())


def test_numbers_stay_numbers_where_a_tensor_gains_nothing() -> None:
    assert scalar(0.25, torch.rand(2).half()) == 0.25
    assert isinstance(scalar(0.25, torch.empty(2, device="meta")), float)


def test_what_was_first_kept_in_inference_mode_serves_training() -> None:
    with torch.inference_mode():
        scalar(0.123, torch.rand(2))
    a = torch.rand(2, requires_grad=True)
    (a * scalar(0.123, a)).sum().backward()
    assert a.grad is not None
    torch.testing.assert_close(a.grad, torch.full((2,), 0.123))
