"""Hugging Face: a ``Trainer`` for any method; text is mixed at the embedding layer.

Pixels and other real inputs are mixed as they are. Tokens cannot be: their embeddings are, with the union of
the two attention masks, while token types and the like stay those of the first sample. Evaluation, prediction
and what is saved are those of ``transformers.Trainer``; so is resuming, which restores torch's generators.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, final

import torch
from torch.nn import functional

from tailormix.embeddings import unwrap
from tailormix.integrations.common import all_ranks, check_method, generator_at
from tailormix.integrations.dictionary_model import (
    MASK,
    TOKENS,
    DictionaryModel,
    check_same_logits,
    token_tensor,
)
from tailormix.interpolation import CutBox
from tailormix.losses.likelihood import LabelSmoothing

if TYPE_CHECKING:
    from torch import Tensor, nn

    from tailormix.components import Criterion
    from tailormix.method import Method

try:
    from transformers import Trainer
except ImportError as error:
    raise ImportError(
        "tailormix.integrations.huggingface needs transformers: "
        f'pip install "tailormix[huggingface]" ({error})'
    ) from error

IGNORED = -100  # the label that transformers ignores


@final
class MixupTrainer(Trainer):  # type: ignore[misc]
    """``transformers.Trainer`` whose training loss is ``method.loss``, for models with one label per sample.

    Names of layers, such as those of Manifold Mixup, are those of the model (``"bert.encoder.layer.0"``).
    Models with one output (``num_labels=1``) and real labels do regression; several outputs and real labels
    mean several labels at once, each with a binary cross-entropy.

    Args:
        *arguments: those of ``transformers.Trainer``.
        **named: keyword arguments of ``transformers.Trainer``.
        method: any method; those that cut boxes or draw from the training set are not for text.
        criterion: as in :meth:`tailormix.Method.loss`. By default cross-entropy with the label smoothing of
            the training arguments, or squared error.

    """

    def __init__(
        self, *arguments: Any, method: Method, criterion: Criterion | None = None, **named: Any
    ) -> None:
        self.method = check_method(method)
        self.criterion = criterion
        self._checked = False
        super().__init__(*arguments, **named)
        _check_fit(method, self.model)
        _check_settings(self, criterion)

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """The method's loss in training; in evaluation the loss of ``transformers.Trainer``."""
        if not model.training:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        if return_outputs:
            raise ValueError("return_outputs must be False in training: a mixed batch has no outputs to show")
        (name,) = self.label_names
        inputs = dict(inputs)
        if inputs.get(name) is None:
            raise ValueError(f"{name} are needed in training, got a batch of {', '.join(inputs)}")
        labels: Tensor = inputs.pop(name)
        view, x = self._view(model, inputs)
        y = labels.flatten() if _outputs(model) == 1 else labels
        ranks = self.accelerator.num_processes
        # transformers seeds all ranks alike: each draws apart, from the generator that resuming restores
        generator = generator_at(int(torch.randint(2**62, ())), self.args.process_index)
        method, criterion = self.method, self._criterion(y)
        if criterion is binary_cross_entropy:  # several labels are classes, too
            method = replace(method, num_classes=_outputs(model))
        loss = method.loss(view, x, y, criterion, group=all_ranks(ranks), generator=generator)
        if num_items_in_batch is None:
            return loss
        # the batch's share of all that are accumulated into one step, on all ranks, whose mean is taken
        ranks = ranks if self.args.average_tokens_across_devices else 1
        return loss * labels.ne(IGNORED).sum() * ranks / num_items_in_batch

    def _view(self, model: nn.Module, inputs: dict[str, Any]) -> tuple[DictionaryModel, Tensor]:
        """The model as a function of the tensor that is mixed, and that tensor."""
        main_input = _main_input(model)
        view = DictionaryModel(model, inputs, main_input)
        if main_input != TOKENS:
            if MASK in inputs:
                raise ValueError(
                    f"{main_input} with an attention_mask cannot be mixed: let all have one length"
                )
            return view, inputs[main_input]
        x = token_tensor(model, inputs)
        if not self._checked:
            check_same_logits(model, inputs, view, x)
            self._checked = True
        return view, x

    def _criterion(self, y: Tensor) -> Criterion | None:
        if self.criterion is not None:
            return self.criterion
        config = self.model.config
        if y.is_floating_point():
            if config.problem_type == "multi_label_classification":
                return binary_cross_entropy
            if self.method.num_classes is None:
                several = config.num_labels > 1 and config.problem_type != "regression"
                return binary_cross_entropy if several else None
        smoothing = self.args.label_smoothing_factor
        return LabelSmoothing(smoothing) if smoothing else None


def binary_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """-t log σ(z) - (1 - t) log(1 - σ(z)), averaged over the labels of each sample, (n,).

    >>> binary_cross_entropy(torch.zeros(1, 4), torch.ones(1, 4))
    tensor([0.6931])
    """
    return functional.binary_cross_entropy_with_logits(logits, targets, reduction="none").mean(1)


def _main_input(model: nn.Module) -> str:
    return str(getattr(unwrap(model), "main_input_name", TOKENS))


def _outputs(model: nn.Module) -> int:
    config: Any = unwrap(model).config
    return int(config.num_labels)


def _check_fit(method: Method, model: nn.Module) -> None:
    outputs = _outputs(model)
    if method.num_classes not in (None, outputs):
        raise ValueError(f"the model returns {outputs} logits, but num_classes is {method.num_classes}")
    if _main_input(model) != TOKENS:
        return
    if isinstance(method.interpolation, CutBox):
        raise ValueError(
            "CutMix pastes boxes of images into images: it cannot mix text, use SKMixup or Mixup"
        )
    if method.pairs.source == "pool":
        raise ValueError("text has no partners from the training set: use partners='batch'")


def _check_settings(trainer: Any, criterion: Criterion | None) -> None:
    if trainer.compute_loss_func is not None:
        raise ValueError("compute_loss_func must be None: pass the loss as criterion=")
    if criterion is not None and trainer.args.label_smoothing_factor:
        raise ValueError(
            f"label_smoothing_factor must be 0 with a criterion, got {trainer.args.label_smoothing_factor}"
        )
    if criterion is not None and getattr(criterion, "needs_ids", False):
        raise ValueError(
            f"{type(criterion).__name__} keeps a history, which the checkpoints of transformers do not hold"
        )
    if trainer.args.n_gpu > 1:
        raise ValueError(
            f"one process must drive one GPU, got n_gpu={trainer.args.n_gpu}: launch with torchrun"
        )
