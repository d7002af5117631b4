"""A model of transformers as a function from one tensor to logits, which is what methods mix with.

The tensor is the model's main input where that is real (pixels), and the embeddings of its tokens where it is
not. Such a view lives for one step and leaves nothing in the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import torch
from torch import nn

from tailormix.data.preprocessing.texts import with_mask
from tailormix.embeddings import unwrap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

TOKENS, MASK = "input_ids", "attention_mask"


@final
class DictionaryModel(nn.Module):
    """f(x) = model(**inputs, with x as the main input).logits, for x of shape (k·n, ...).

    The other inputs, of n rows, are repeated k times: some methods stack several mixed batches. Layers have
    the names that they have in the model. For tokens, x is :func:`token_tensor`, and the attention mask is
    where its last feature is positive after mixing: the union of the two masks. Where mixing happens at a
    hidden layer, the mask is mixed as the companion of that layer.

    Args:
        model: takes keyword arguments; returns a record with ``logits``, or a tuple that begins with them.
        inputs: its arguments; tensors have n rows.
        main_input: the name of the argument that x stands for; ``"input_ids"`` for tokens.

    >>> class Doubling(nn.Module):
    ...     def forward(self, pixel_values: torch.Tensor) -> dict[str, torch.Tensor]:
    ...         return {"logits": 2 * pixel_values}
    >>> view = DictionaryModel(Doubling(), {"pixel_values": torch.zeros(1, 2)}, "pixel_values")
    >>> view(torch.ones(3, 2)).shape
    torch.Size([3, 2])

    """

    def __init__(self, model: nn.Module, inputs: Mapping[str, Any], main_input: str) -> None:
        super().__init__()
        self._model = (model,)  # in a tuple, so that it is no submodule: its children are, by their names
        self._main_input = main_input
        self._others = {key: value for key, value in inputs.items() if key not in (main_input, MASK)}
        self._rows = inputs[main_input].shape[0]
        inner = unwrap(model)
        for name, child in inner.named_children():
            self.add_module(name, child)
        for name in ("embedding_layer", "stages"):
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))
        self._mask = nn.Identity()
        self.companions = ("_mask",) if main_input == TOKENS else ()

    def forward(self, x: Tensor) -> Tensor:
        """Logits (k·n, C), or values (k·n,) of models with one output."""
        times = x.shape[0] // self._rows
        arguments = {key: self._repeated(value, times) for key, value in self._others.items()}
        if self._main_input == TOKENS:
            arguments["inputs_embeds"] = x[..., :-1]
            arguments[MASK] = (self._mask(x[..., -1]) > 0).long()
        else:
            arguments[self._main_input] = x
        # The wrapper for several ranks is there for passes with gradient.
        model = self._model[0] if torch.is_grad_enabled() else unwrap(self._model[0])
        return logits_of(model(**arguments))

    def _repeated(self, value: Any, times: int) -> Any:
        if times == 1 or not isinstance(value, torch.Tensor) or value.shape[:1] != (self._rows,):
            return value
        return value.repeat(times, *(1,) * (value.dim() - 1))


def token_tensor(model: nn.Module, inputs: Mapping[str, Any]) -> Tensor:
    """The embeddings of a batch's tokens with its attention mask, (n, L, d + 1)."""
    lookup: Any = unwrap(model).get_input_embeddings()  # type: ignore[operator]
    embedded: Tensor = lookup(inputs[TOKENS])
    mask = inputs.get(MASK)
    mask = torch.ones_like(inputs[TOKENS]) if mask is None else mask
    if mask.shape != inputs[TOKENS].shape:
        raise ValueError(
            f"attention_mask must have the shape of input_ids, {tuple(inputs[TOKENS].shape)}, to be mixed, "
            f"got {tuple(mask.shape)}"
        )
    return with_mask(embedded, mask)


def logits_of(outputs: Any) -> Tensor:
    """The logits of a model's output, (n, C), or (n,) where there is one."""
    found = outputs.get("logits") if isinstance(outputs, dict) else outputs[0]
    if not isinstance(found, torch.Tensor):
        raise TypeError(
            f"the model must return logits to be trained with mixing, got {type(outputs).__name__}"
        )
    return found.squeeze(-1) if found.dim() == 2 and found.shape[1] == 1 else found


def check_same_logits(model: nn.Module, inputs: Mapping[str, Any], view: DictionaryModel, x: Tensor) -> None:
    """Reject models whose logits for embeddings differ from those for the tokens themselves.

    Some look for padding among the tokens: those that pool the last token need padding on the left.
    """
    inner = unwrap(model)
    modes = {module: module.training for module in inner.modules()}
    inner.eval()
    try:
        with torch.no_grad():
            ours, theirs = view(x), logits_of(inner(**inputs))
    finally:
        for module, mode in modes.items():
            module.training = mode
    gap, scale = (ours - theirs).abs().max(), theirs.abs().max()
    if not bool(gap <= 0.01 * scale):
        raise ValueError(
            f"{type(inner).__name__} answers differently to inputs_embeds than to input_ids (logits up to "
            f"{float(scale):.3g} differ by {float(gap):.3g}): pad on the other side, or to no length at all"
        )
