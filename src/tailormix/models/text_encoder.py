"""A pretrained text encoder of the transformers library with a linear layer on top, to be fine-tuned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from torch import nn

from tailormix import checks
from tailormix.pretrained import pretrained

if TYPE_CHECKING:
    from torch import Tensor


@final
class TextEncoder(nn.Module):
    """W mean_t(encoder(x)_t) + b: embedded tokens (n, L, d + 1) → (n, ``num_classes``).

    Inputs are those of :class:`tailormix.data.preprocessing.TextPreprocessing`: embeddings of tokens, and the
    attention mask as one more feature. They are real, so that any method can mix them; where two texts are
    mixed, a position counts if either of them has a token there. The table of embeddings belongs to the
    inputs and is not trained.

    Args:
        path: a folder or name of a model such as BERT or MiniLM, loaded by transformers.
        num_classes: outputs of the linear layer, which is new.
        dropout: before the linear layer.

    """

    embedding_layer = "head"
    companions = ("mask",)

    def __init__(self, path: str, num_classes: int = 2, dropout: float = 0.1) -> None:
        super().__init__()
        checks.fraction("dropout", dropout)
        self.encoder: Any = pretrained("AutoModel", path)
        self.encoder.set_input_embeddings(nn.Identity())  # inputs are embedded already
        self.encoder.pooler = None  # the mean over tokens is used instead
        self.mask = nn.Identity()  # a layer, so that mixing at a hidden layer finds it
        self.dropout = nn.Dropout(dropout)
        width = int(self.encoder.config.hidden_size)
        self.head = nn.Linear(width, checks.integer("num_classes", num_classes, at_least=1))
        layers = getattr(getattr(self.encoder, "encoder", None), "layer", ())
        self.stages = tuple(f"encoder.encoder.layer.{number}" for number in range(len(layers)))

    def forward(self, x: Tensor) -> Tensor:
        """Map embedded tokens (n, L, d + 1) to logits (n, ``num_classes``)."""
        if x.dim() != 3:
            raise ValueError(f"text-encoder takes embedded tokens (n, length, d + 1), got {tuple(x.shape)}")
        shown = (self.mask(x[..., -1]) > 0).long()
        hidden = self.encoder(inputs_embeds=x[..., :-1], attention_mask=shown).last_hidden_state
        out: Tensor = self.head(self.dropout(mean_of_tokens(hidden, shown)))
        return out


def mean_of_tokens(hidden: Tensor, mask: Tensor) -> Tensor:
    """Σ_t m_t h_t / Σ_t m_t: the mean over the tokens (n, L, d) that the mask (n, L) shows, (n, d).

    >>> import torch
    >>> hidden = torch.tensor([[[1.0], [3.0], [100.0]]])
    >>> mean_of_tokens(hidden, torch.tensor([[1, 1, 0]]))
    tensor([[2.]])
    """
    shown = mask[..., None].to(hidden.dtype)
    return (hidden * shown).sum(1) / shown.sum(1).clamp(min=1)
