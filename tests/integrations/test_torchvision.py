"""The transform and the collate function: their protocol here, and with torchvision where it imports."""

from __future__ import annotations

import pickle

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from helpers import conv_net
from integrations.cases import BATCH_FORMS, X, Y, ready, real
from tailormix import CutMix, Method, Mixup, SKMixup, build_method
from tailormix.integrations.torchvision import BatchMixup, MixupCollate

SAMPLES = list(zip(X, Y.tolist(), strict=True))


def check(images: Tensor, labels: Tensor) -> None:
    assert (images.dtype, images.shape) == (torch.float32, X.shape)
    assert (labels.dtype, labels.shape) == (torch.float32, (7, 3))
    torch.testing.assert_close(labels.sum(1), torch.ones(7))


@pytest.mark.parametrize("name", BATCH_FORMS)
def test_every_batch_form_is_a_transform(name: str) -> None:
    check(*BatchMixup(ready(name, 3, num_classes=3), model=conv_net())(X, Y))


def test_the_batch_comes_back_in_its_form() -> None:
    transform, extra = BatchMixup(Mixup(num_classes=3)), object()
    assert isinstance(transform(X, Y), tuple)
    assert isinstance(transform((X, Y)), tuple)
    assert isinstance(transform([X, Y]), list)
    assert transform(X, Y, extra)[2] is extra


@pytest.mark.parametrize("method", [CutMix(num_classes=3), SKMixup(space="input", num_classes=3)])
def test_transform_and_collate_function_are_the_batch_form(method: Method) -> None:
    """Pickled as well: loaders that start fresh processes do so with their collate function."""
    collate = pickle.loads(pickle.dumps(MixupCollate(method)))
    found = []
    for mix, batch in ((method, (X, Y)), (BatchMixup(method), (X, Y)), (collate, (SAMPLES,))):
        torch.manual_seed(4)
        found.append(mix(*batch))
    assert all(torch.equal(x, found[0][0]) and torch.equal(y, found[0][1]) for x, y in found)


def test_a_loader_takes_it_with_the_odd_last_batch() -> None:
    loader = DataLoader(TensorDataset(X, Y), batch_size=3, collate_fn=MixupCollate(Mixup(num_classes=3)))
    assert [(len(x), tuple(y.shape)) for x, y in loader] == [(3, (3, 3)), (3, (3, 3)), (1, (1, 3))]


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


def test_torchvision_itself_gives_the_same_protocol_and_chooses_among_ours_and_theirs() -> None:
    v2 = real("torchvision.transforms.v2")
    for transform in (v2.MixUp(num_classes=3), BatchMixup(Mixup(num_classes=3))):
        check(*transform(X, Y))
        check(*transform((X, Y)))
    ours = BatchMixup(SKMixup(num_classes=3), model=conv_net())
    either = v2.Compose([v2.RandomChoice([v2.CutMix(num_classes=3), ours])])
    for _ in range(8):
        check(*either(X, Y))
