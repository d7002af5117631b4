"""The transform and the collate function: their protocol here, and with torchvision where it imports."""

from __future__ import annotations

import pickle

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset, default_collate

from helpers import conv_net
from integrations.cases import BATCH_FORMS, ready, real
from nets import seeded
from tailormix import CutMix, Mixup, SKMixup, build_method
from tailormix.integrations.torchvision import BatchMixup, MixupCollate

X, Y = torch.rand(7, 3, 8, 8, generator=seeded()), torch.tensor([0, 1, 2, 0, 1, 2, 0])
SAMPLES = list(zip(X, Y.tolist(), strict=True))


@pytest.mark.parametrize("name", BATCH_FORMS)
def test_every_batch_form_is_a_transform(name: str) -> None:
    images, labels = BatchMixup(ready(name, 3, num_classes=3), model=conv_net())(X, Y)
    assert images.shape == X.shape
    torch.testing.assert_close(labels.sum(1), torch.ones(7))


def test_the_batch_comes_back_in_its_form() -> None:
    transform, extra = BatchMixup(Mixup(num_classes=3)), object()
    assert isinstance(transform(X, Y), tuple)
    assert isinstance(transform((X, Y)), tuple)
    assert isinstance(transform([X, Y]), list)
    assert transform(X, Y, extra)[2] is extra


def test_one_call_is_the_batch_form() -> None:
    method = CutMix(num_classes=3)
    torch.manual_seed(4)
    images, labels = BatchMixup(method)(X, Y)
    torch.manual_seed(4)
    expected = method(X, Y)
    assert torch.equal(images, expected[0])
    assert torch.equal(labels, expected[1])


def test_collating_is_default_collate_and_the_transform() -> None:
    method = SKMixup(space="input", num_classes=3)
    torch.manual_seed(4)
    images, labels = MixupCollate(method)(SAMPLES)
    torch.manual_seed(4)
    expected = BatchMixup(method)(*default_collate(SAMPLES))
    assert torch.equal(images, expected[0])
    assert torch.equal(labels, expected[1])


def test_a_loader_takes_it_with_the_odd_last_batch() -> None:
    loader = DataLoader(TensorDataset(X, Y), batch_size=3, collate_fn=MixupCollate(Mixup(num_classes=3)))
    assert [(len(x), tuple(y.shape)) for x, y in loader] == [(3, (3, 3)), (3, (3, 3)), (1, (1, 3))]


def test_it_travels_to_the_workers() -> None:
    """Loaders that start fresh processes pickle their collate function."""
    collate = pickle.loads(pickle.dumps(MixupCollate(SKMixup(space="input", num_classes=3))))
    images, labels = collate(SAMPLES)
    assert images.shape == X.shape
    assert labels.shape == (7, 3)


def test_regression_needs_no_classes() -> None:
    """Distances are then between labels: nothing is missing in the loader either."""
    images, targets = MixupCollate(SKMixup())([(x, x.mean()) for x in X])
    assert images.shape == X.shape
    assert targets.shape == (7,)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"model is needed .* not in collate_fn"):
        MixupCollate(SKMixup(num_classes=3))
    with pytest.raises(TypeError, match=r"HiddenLayer needs the model: use method\.loss"):
        BatchMixup(build_method("manifold-mixup", num_classes=3))
    with pytest.raises(TypeError, match=r"expected a batch \(images, labels\), got dict"):
        BatchMixup(Mixup(num_classes=3))({"images": X, "labels": Y})
    with pytest.raises(ValueError, match=r"class indices must have shape \(n,\)"):
        BatchMixup(Mixup(num_classes=3))(X, Y[:, None])
    with pytest.raises(ValueError, match="num_classes is needed"):
        BatchMixup(Mixup())(X, Y)
    with pytest.raises(TypeError, match="x must be floating point"):
        BatchMixup(Mixup(num_classes=3))((X * 255).byte(), Y)


def check(images: Tensor, labels: Tensor) -> None:
    assert (images.dtype, images.shape) == (torch.float32, X.shape)
    assert (labels.dtype, labels.shape) == (torch.float32, (7, 3))


def test_torchvision_itself_gives_the_same_protocol() -> None:
    v2 = real("torchvision.transforms.v2")
    for transform in (v2.MixUp(num_classes=3), BatchMixup(Mixup(num_classes=3))):
        check(*transform(X, Y))
        check(*transform((X, Y)))


def test_torchvision_chooses_among_ours_and_theirs() -> None:
    v2 = real("torchvision.transforms.v2")
    ours = BatchMixup(SKMixup(num_classes=3), model=conv_net())
    either = v2.Compose([v2.RandomChoice([v2.CutMix(num_classes=3), ours])])
    for _ in range(8):
        check(*either(X, Y))
