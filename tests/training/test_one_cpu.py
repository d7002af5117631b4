"""The stand-in for Fabric on one CPU: the same gradients as torch's, and nothing shared with them."""

import pytest
import torch

from tailormix.kept import one
from tailormix.training.one_cpu import OneCPU


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_are_those_of_torch(dtype: torch.dtype) -> None:
    weights = [torch.arange(3, dtype=dtype).requires_grad_() for _ in range(2)]
    OneCPU().backward(weights[0].square().mean())
    weights[1].square().mean().backward()
    assert weights[0].grad is not None
    assert weights[1].grad is not None
    assert torch.equal(weights[0].grad, weights[1].grad)


def test_a_loss_without_a_gradient_is_refused_as_torch_does() -> None:
    with pytest.raises(RuntimeError, match="does not require grad"):
        OneCPU().backward(torch.tensor(1.0))


def test_kept_numbers_are_safe_from_what_is_done_to_gradients() -> None:
    """Through views alone the gradient of a parameter is the very tensor that backward began with."""
    noise = torch.nn.Parameter(torch.zeros(1))
    module = torch.nn.Module()
    module.register_parameter("noise", noise)
    for _ in range(2):
        OneCPU().backward(noise.squeeze())
    OneCPU().clip_gradients(module, None, 0.5)  # type: ignore[arg-type]
    assert noise.grad is not None
    assert noise.grad.item() == pytest.approx(0.5)
    assert one().item() == 1
