"""MobileNetV2 with weights from a file."""

import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tailormix.models import MobileNetV2

REAL = Path(os.environ.get("TAILORMIX_DATA", "")) / "weights" / "mobilenetv2.pt"


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_weights_of_a_file_are_loaded_and_the_last_layer_is_new(tmp_path, suffix):
    torch.manual_seed(0)
    other = MobileNetV2(num_classes=3)
    path = tmp_path / f"weights{suffix}"
    (save_file if suffix == ".safetensors" else torch.save)(other.state_dict(), path)
    model = MobileNetV2(num_classes=7, weights=path)
    assert torch.equal(model.features[5].conv[3].weight, other.features[5].conv[3].weight)
    assert model.classifier.out_features == 7


def test_wrong_weights_are_named(tmp_path):
    text = tmp_path / "weights.pt"
    text.write_text("no weights")
    with pytest.raises(ValueError, match=r"weights must be a file of MobileNetV2.*weights\.pt"):
        MobileNetV2(weights=text)
    with pytest.raises(ValueError, match="missing"):
        MobileNetV2(weights=tmp_path / "missing.pt")
    torch.save({"fc.weight": torch.zeros(1)}, tmp_path / "other.pt")
    with pytest.raises(ValueError, match=r"weights must hold features\.\*, got fc\.weight"):
        MobileNetV2(weights=tmp_path / "other.pt")


@pytest.mark.skipif(not REAL.is_file(), reason="needs weights/mobilenetv2.pt in TAILORMIX_DATA")
def test_published_weights_give_features_that_tell_images_apart():
    model = MobileNetV2(weights=REAL).eval()
    with torch.no_grad():
        features = model.features(torch.randn(2, 3, 96, 96)).mean((2, 3))
    assert features.shape == (2, 1280)
    assert 0 <= float(features.min()) <= float(features.max()) <= 6  # after ReLU6
    assert float((features[0] - features[1]).abs().mean()) > 0.01
