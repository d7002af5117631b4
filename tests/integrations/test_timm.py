"""The object in the place of timm's ``mixup_fn``: its protocol here, and timm's own where it imports."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

from helpers import conv_net
from integrations.cases import BATCH_FORMS, X, Y, ready, real
from nets import seeded
from tailormix import CutMix, Mixup, SKMixup, build_method, embed
from tailormix.integrations.timm import MixupFn


@pytest.mark.parametrize("name", BATCH_FORMS)
@pytest.mark.parametrize("rows", [1, 7])
def test_every_batch_form_gives_images_and_soft_targets(name: str, rows: int) -> None:
    mixup_fn = MixupFn(ready(name, 3, num_classes=3), model=conv_net())
    x, target = mixup_fn(X[:rows].clone(), Y[:rows])
    assert x.shape == X[:rows].shape
    assert target.shape == (rows, 3)
    torch.testing.assert_close(target.sum(1), torch.ones(rows))


def test_it_is_the_batch_form_with_the_embeddings_of_a_model_that_is_not_changed() -> None:
    method, model, given = SKMixup(num_classes=3), conv_net().train(), X.clone()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    x, target = MixupFn(method, model=model, generator=seeded(1))(given, Y)
    assert torch.equal(given, X)
    assert all(module.training for module in model.modules())
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    expected_x, expected_y = method(X, Y, embed(model, X), generator=seeded(1))
    assert torch.equal(x, expected_x)
    assert torch.equal(target, expected_y)
    x, _ = MixupFn(SKMixup(num_classes=3, space="input"))(X, Y)  # no model needed
    assert x.isfinite().all()


def test_switched_off_it_only_makes_soft_targets() -> None:
    """S = 0.3, C = 3: 0.8 at the class and 0.1 elsewhere, as torch's own smoothing has it; soft rows stay."""
    mixup_fn = MixupFn(Mixup(num_classes=3), label_smoothing=0.3)
    mixup_fn.mixup_enabled = False
    x, target = mixup_fn(X, Y)
    assert torch.equal(x, X)
    torch.testing.assert_close(target[1], torch.tensor([0.1, 0.8, 0.1]))
    logits = torch.randn(7, 3, generator=seeded())
    smoothed = functional.cross_entropy(logits, Y, label_smoothing=0.3)
    torch.testing.assert_close(functional.cross_entropy(logits, target), smoothed)
    plain, rows = MixupFn(Mixup(num_classes=3)), logits.softmax(1)
    plain.mixup_enabled = False
    assert torch.equal(plain(X, rows)[1], rows)


def test_smoothing_is_mixed_like_the_targets() -> None:
    """Smoothing is linear: smoothed then mixed is mixed then smoothed."""
    plain, smooth = (
        MixupFn(Mixup(num_classes=3), label_smoothing=s, generator=seeded(2)) for s in (0.0, 0.6)
    )
    torch.testing.assert_close(smooth(X, Y)[1], plain(X, Y)[1] * 0.4 + 0.2)


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match=r"model is needed .* build the method with space='input'"):
        MixupFn(SKMixup(num_classes=3))
    with pytest.raises(ValueError, match="method must know num_classes"):
        MixupFn(Mixup())
    with pytest.raises(TypeError, match=r"Regulariser needs the model: use method\.loss"):
        MixupFn(build_method("regmixup", num_classes=3))
    with pytest.raises(ValueError, match=r"label_smoothing must lie in \[0, 1\], got 1.5"):
        MixupFn(Mixup(num_classes=3), label_smoothing=1.5)
    with pytest.raises(TypeError, match=r"x must be floating point, got dtype torch\.uint8"):
        MixupFn(Mixup(num_classes=3))((X * 255).byte(), Y)
    with pytest.raises(ValueError, match=r"y must lie in 0\.\.2"):
        MixupFn(Mixup(num_classes=3))(X, Y + 1)


def test_timm_itself_gives_the_same_protocol() -> None:
    """Same attributes, shapes, types and, when switched off, values."""
    theirs = real("timm.data").Mixup(label_smoothing=0.1, num_classes=3)
    mine = MixupFn(CutMix(num_classes=3), label_smoothing=0.1)
    for mixup_fn in (theirs, mine):
        assert mixup_fn.mixup_enabled is True
        x, target = mixup_fn(X[:6].clone(), Y[:6])
        assert (x.dtype, x.shape) == (torch.float32, (6, 3, 8, 8))
        assert (target.dtype, target.shape) == (torch.float32, (6, 3))
        mixup_fn.mixup_enabled = False
    torch.testing.assert_close(mine(X[:6], Y[:6]), theirs(X[:6].clone(), Y[:6]))


def test_timm_models_and_losses_take_it() -> None:
    timm = real("timm")
    model: nn.Module = timm.create_model("resnet10t", num_classes=3)
    x, target = MixupFn(SKMixup(num_classes=3), model=model)(torch.rand(4, 3, 32, 32), Y[:4])
    loss = real("timm.loss").SoftTargetCrossEntropy()(model(x), target)
    torch.testing.assert_close(loss, functional.cross_entropy(model(x), target), rtol=1e-3, atol=1e-3)
