"""timm: any batch-form method where a training script has its ``mixup_fn(x, target)``.

Needs nothing from timm itself. In timm's own script, run with ``--no-prefetcher`` (the prefetcher mixes
images before the model could see them) and put a :class:`MixupFn` in the place of ``timm.data.Mixup``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tailormix import checks
from tailormix.batch import one_hot
from tailormix.integrations.common import check_batch_form, check_model, embeddings_on_demand

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from tailormix.method import Method


@final
class MixupFn:
    """(x, y) → (x̃, (1 - s) ỹ + s / C): mixed inputs and smoothed soft targets, as ``timm.data.Mixup`` gives.

    Batches may have any size, also an odd one, and ``x`` itself is not changed. Where the script runs under
    autocast, call it there, so that the pass for embeddings is as cheap as the others.

    Args:
        method: a method with a batch form and ``num_classes``.
        model: the network in training, for methods that measure distances between its embeddings (SK Mixup,
            unless it was built with ``space="input"``). Its mode and statistics are not changed.
        label_smoothing: s, the share of each target that is spread evenly over the classes.
        generator: a CPU generator for everything that is drawn; torch's own by default.

    Attributes:
        mixup_enabled: training scripts set it to False for the last epochs. Targets stay soft and smoothed.

    >>> import torch
    >>> from tailormix import Mixup
    >>> mixup_fn = MixupFn(Mixup(num_classes=2), label_smoothing=0.5)
    >>> mixup_fn.mixup_enabled = False
    >>> mixup_fn(torch.zeros(1, 3, 4, 4), torch.tensor([1]))[1]
    tensor([[0.2500, 0.7500]])

    """

    def __init__(
        self,
        method: Method,
        *,
        model: nn.Module | None = None,
        label_smoothing: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        otherwise = "use method.loss(model, x, y) in place of mixup_fn and criterion"
        self.method = check_batch_form(method, otherwise)
        if method.num_classes is None:
            raise ValueError("method must know num_classes to make soft targets, got num_classes=None")
        check_model(method, model)
        self.num_classes = method.num_classes
        self.model = model
        self.label_smoothing = checks.fraction("label_smoothing", label_smoothing)
        self.generator = generator
        self.mixup_enabled = True

    def __call__(self, x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Mixed inputs (n, ...) and soft targets (n, C) of class indices (n,) or soft rows (n, C)."""
        if self.mixup_enabled:
            embeddings = embeddings_on_demand(self.method, self.model, x)
            x, target = self.method(x, target, embeddings, generator=self.generator)
        elif not target.is_floating_point():
            target = one_hot(target, self.num_classes)
        return x, target * (1 - self.label_smoothing) + self.label_smoothing / self.num_classes
