"""Vector and matrix scaling."""

import numpy as np
import pytest
import torch

from support_calibration import distorted
from tailormix import metrics
from tailormix.calibration import MatrixScaling, TemperatureScaling, VectorScaling

KINDS = [VectorScaling, MatrixScaling]


@pytest.mark.parametrize("kind", KINDS)
def test_never_worse_than_temperature_and_temperature_never_than_none(kind: type) -> None:
    logits, targets = distorted(600, classes=4)
    logits = logits * torch.tensor([1.0, 2.0, 0.5, 1.0]) + torch.tensor([0.0, 1.0, -1.0, 0.0])
    fitted = kind().fit(logits, targets)
    scaled = TemperatureScaling().fit(logits, targets).transform(logits)
    found = [metrics.nll(z, targets, from_logits=True) for z in (fitted.transform(logits), scaled, logits)]
    assert found[0] < found[1] < found[2]
    assert fitted.fitted.converged
    assert fitted.fitted.nll_after == pytest.approx(found[0], rel=1e-5)


def test_vector_undoes_a_known_distortion() -> None:
    """Targets follow softmax(w ∘ z + b); one direction of b is free, so differences are compared."""
    logits, _ = distorted(20_000, classes=3)
    weight, bias = torch.tensor([0.5, 1.0, 1.5]), torch.tensor([0.5, 0.0, -0.5])
    targets = torch.multinomial(
        (logits * weight + bias).softmax(1), 1, generator=torch.Generator().manual_seed(0)
    )[:, 0]
    fitted = VectorScaling(ridge=0).fit(logits, targets).fitted
    assert fitted.weight == pytest.approx(weight.numpy(), abs=0.1)
    assert np.diff(fitted.bias) == pytest.approx([-0.5, -0.5], abs=0.15)


def test_matrix_agrees_with_unpenalised_logistic_regression() -> None:
    from sklearn.linear_model import LogisticRegression

    logits, targets = distorted(400, classes=3)
    ours = MatrixScaling(ridge=0).fit(logits, targets).transform(logits).softmax(1)
    peer = LogisticRegression(C=np.inf, tol=1e-8, max_iter=5000).fit(logits.numpy(), targets.numpy())
    assert ours.numpy() == pytest.approx(peer.predict_proba(logits.numpy()), abs=2e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_separable_huge_and_constant_logits_stay_finite(kind: type) -> None:
    eye = torch.eye(3).repeat(4, 1)
    for logits in (eye, eye * 1e20, torch.zeros(12, 3)):
        fitted = kind().fit(logits, eye.argmax(1)).fitted
        assert np.isfinite(fitted.weight).all()
        assert np.isfinite(fitted.bias).all()
        assert fitted.nll_after <= fitted.nll_before


def test_bad_ridge() -> None:
    with pytest.raises(ValueError, match="ridge must be >= 0, got -1"):
        VectorScaling(ridge=-1)
