"""Lightning: a callback that mixes batches, and the loss of a training step for every method.

Everything a method draws depends on the seed, the epoch, the batch and the rank alone: a run that is resumed
from a checkpoint mixes as if it had never stopped.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, MutableMapping, MutableSequence
from typing import TYPE_CHECKING, Any, final

from tailormix.embeddings import embed
from tailormix.integrations.common import all_ranks, check_batch_form, check_method, generator_at

if TYPE_CHECKING:
    import torch
    from lightning.pytorch import LightningModule, Trainer
    from torch import Tensor, nn

    from tailormix.components import Criterion
    from tailormix.method import Method

try:
    from lightning.pytorch import Callback
except ImportError as error:
    raise ImportError(
        f'tailormix.integrations.lightning needs Lightning: pip install "tailormix[lightning]" ({error})'
    ) from error

Keys = tuple[Hashable, Hashable]


@final
class MixupCallback(Callback):  # type: ignore[misc]
    """Mixes every training batch before ``training_step`` gets it; other batches are not touched.

    ``training_step`` gets mixed inputs and soft targets, which ``cross_entropy`` takes as they are. Lightning
    lets callbacks change a batch but not replace it: batches must be lists (what loaders make of pairs by
    default) or dictionaries.

    Args:
        method: a method with a batch form, and with ``num_classes`` if targets are class indices. For others
            see :func:`mixup_loss`.
        model: name of the submodule whose embeddings distances are measured between (such as ``"net"``); the
            LightningModule itself, by its ``forward``, if None.
        keys: where inputs and targets are in the batch, such as ``("image", "label")``.
        seed: of everything that is drawn; by default the one given to ``seed_everything``, else 0.

    >>> from tailormix import SKMixup
    >>> MixupCallback(SKMixup(num_classes=10), keys=("image", "label")).keys
    ('image', 'label')

    """

    def __init__(
        self, method: Method, *, model: str | None = None, keys: Keys = (0, 1), seed: int | None = None
    ) -> None:
        super().__init__()
        otherwise = "use tailormix.integrations.lightning.mixup_loss in training_step"
        self.method = check_batch_form(method, otherwise)
        self.model = model
        self.keys = keys
        self.seed = seed

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Put the mixed inputs and targets where the clean ones were."""
        if not isinstance(batch, (MutableMapping, MutableSequence)):
            raise TypeError(
                f"batch must be a list or a dictionary to be mixed in place, got {type(batch).__name__}: let "
                "collate_fn return a list, or use mixup_loss in training_step"
            )
        x, y = (_entry(batch, key) for key in self.keys)
        network = pl_module if self.model is None else pl_module.get_submodule(self.model)

        def embeddings() -> Tensor:
            with trainer.precision_plugin.forward_context():
                return embed(network, x, self.method.embedding_layer, self.method.update_statistics)

        generator = _generator(trainer, self.seed, batch_idx)
        mixed = self.method(x, y, embeddings, group=all_ranks(trainer.world_size), generator=generator)
        entries: Any = batch
        entries[self.keys[0]], entries[self.keys[1]] = mixed


def mixup_loss(
    module: LightningModule,
    batch: Any,
    method: Method,
    criterion: Criterion | None = None,
    *,
    model: nn.Module | None = None,
    keys: Keys = (0, 1),
    ids: Hashable | None = None,
    seed: int | None = None,
) -> Tensor:
    """The loss of a training step, for every method; call it from ``training_step``.

    A criterion with a history (CRL) must be a submodule, so that checkpoints hold it; epochs are counted.

    Args:
        module: the LightningModule that is being fitted: ``self``.
        batch: a tuple, a list or a dictionary.
        method: any method.
        criterion: as in :meth:`tailormix.Method.loss`.
        model: the network, such as ``self.net``; the LightningModule itself, by its ``forward``, if None.
        keys: where inputs and targets are in the batch.
        ids: where the samples' numbers are in the batch, for criteria with a history.
        seed: of everything that is drawn; by default the one given to ``seed_everything``, else 0.

    """
    trainer, step = module.trainer, module.trainer.fit_loop.batch_idx
    if step == 0 and hasattr(criterion, "end_epoch"):
        _end_last_epoch(module, criterion)
    return check_method(method).loss(
        module if model is None else model,
        _entry(batch, keys[0]),
        _entry(batch, keys[1]),
        criterion,
        ids=None if ids is None else _entry(batch, ids),
        group=all_ranks(trainer.world_size),
        generator=_generator(trainer, seed, step),
    )


def _end_last_epoch(module: LightningModule, criterion: Any) -> None:
    """Count an epoch at the start of the next one, so that any checkpoint has it counted once."""
    if all(each is not criterion for each in module.modules()):
        raise ValueError(
            f"{type(criterion).__name__} keeps a history, which checkpoints hold only if it is a submodule: "
            "assign it in __init__ of the LightningModule"
        )
    if module.trainer.current_epoch > 0:
        criterion.end_epoch()


def _entry(batch: Any, key: Hashable) -> Tensor:
    try:
        entry: Tensor = batch[key]
    except (KeyError, IndexError, TypeError) as error:
        known = list(batch) if isinstance(batch, MutableMapping) else f"{len(batch)} entries"
        raise ValueError(
            f"keys and ids must name entries of the batch, got {key!r}; it has {known}"
        ) from error
    return entry


def _generator(trainer: Trainer, seed: int | None, step: int) -> torch.Generator:
    """The draws of one step on one rank; ``seed_everything`` leaves its seed in the environment."""
    seed = int(os.environ.get("PL_GLOBAL_SEED", "0")) if seed is None else seed
    return generator_at(seed, trainer.current_epoch, step, trainer.global_rank)
