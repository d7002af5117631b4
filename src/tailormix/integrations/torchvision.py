"""torchvision: any batch-form method as a transform of batches, or inside the loader's collate function.

Needs nothing from torchvision itself. Used like ``torchvision.transforms.v2.MixUp``, also inside its
``RandomChoice``: after the loader (:class:`BatchMixup`), or as its ``collate_fn`` (:class:`MixupCollate`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from torch.utils.data import default_collate

from tailormix.integrations.common import check_batch_form, check_model, embeddings_on_demand

if TYPE_CHECKING:
    from torch import nn

    from tailormix.method import Method


@final
class BatchMixup:
    """(images, labels) → (mixed images, soft labels); further entries of the batch are passed through.

    Args:
        method: a method with a batch form, and with ``num_classes`` if labels are class indices.
        model: the network in training, for methods that measure distances between its embeddings (SK Mixup,
            unless it was built with ``space="input"``).

    >>> import torch
    >>> from tailormix import SKMixup
    >>> mixup = BatchMixup(SKMixup(space="input", num_classes=10))
    >>> images, labels = mixup(torch.rand(5, 3, 8, 8), torch.arange(5))
    >>> images.shape, labels.shape
    (torch.Size([5, 3, 8, 8]), torch.Size([5, 10]))

    """

    def __init__(self, method: Method, *, model: nn.Module | None = None) -> None:
        self.method = check_batch_form(method, "use method.loss(model, images, labels) in the training loop")
        check_model(method, model, "pass it (after the loader, not in collate_fn)")
        self.model = model

    def __call__(self, *inputs: Any) -> Any:
        """Mix a batch: two arguments, or one tuple or list, which comes back in the same form."""
        batch = inputs if len(inputs) > 1 else inputs[0]
        if not isinstance(batch, (tuple, list)) or len(batch) < 2:
            raise TypeError(f"expected a batch (images, labels), got {type(batch).__name__}")
        images, labels, *others = batch
        mixed = self.method(images, labels, embeddings_on_demand(self.method, self.model, images))
        return [*mixed, *others] if isinstance(batch, list) else (*mixed, *others)


@final
class MixupCollate:
    """Samples → a mixed batch: ``default_collate``, then the method. For a loader's ``collate_fn``.

    It runs in the loader's workers, where there is no model to measure embeddings with, and draws from
    torch's own generator, which every worker seeds differently in every epoch.

    >>> import torch
    >>> from tailormix import CutMix
    >>> samples = [(torch.zeros(1, 4, 4), 0), (torch.ones(1, 4, 4), 2)]
    >>> images, labels = MixupCollate(CutMix(num_classes=3))(samples)
    >>> images.shape, labels.sum(1)
    (torch.Size([2, 1, 4, 4]), tensor([1., 1.]))

    """

    def __init__(self, method: Method) -> None:
        self.transform = BatchMixup(method)

    def __call__(self, samples: list[Any]) -> Any:
        """Collate and mix samples (image, label, ...)."""
        return self.transform(*default_collate(samples))
