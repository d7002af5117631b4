"""Numbers kept as tensors: they change the cost of an operation and nothing else."""

import numpy as np
import pytest
import torch

from tailormix.kept import kept, readable, scalar


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


def test_values_are_read_on_the_cpu_only() -> None:
    assert readable(torch.rand(1))
    assert not readable(torch.rand(1, device="meta"))


def test_a_kept_tensor_is_made_once() -> None:
    made = []

    @kept
    def count_to(n: int) -> torch.Tensor:
        made.append(n)
        return torch.arange(n, dtype=torch.float32)

    with torch.inference_mode():
        count_to(3)
    weight = torch.ones(3, requires_grad=True)
    (weight * count_to(3)).sum().backward()  # an inference tensor could not be saved for this
    assert weight.grad is not None
    assert weight.grad.tolist() == [0.0, 1.0, 2.0]
    assert made == [3]


def test_the_compiler_takes_a_kept_tensor_as_a_constant() -> None:
    @kept
    def count_to(n: int) -> torch.Tensor:
        return torch.from_numpy(np.arange(float(n)))  # no graph takes this in

    @kept
    def count_from(n: int) -> torch.Tensor:
        return torch.from_numpy(np.arange(float(n), 0.0, -1.0))

    @torch.compile(fullgraph=True, backend="aot_eager")
    def shifted(a: torch.Tensor) -> torch.Tensor:
        return a + count_to(3) * count_from(3)

    assert shifted(torch.ones(3)).tolist() == [1.0, 3.0, 3.0]
