"""Models of the transformers library, where it is installed: loaded from a folder or by a name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


def pretrained(kind: str, name: str) -> Any:
    """``transformers.KIND.from_pretrained(name)``; whatever goes wrong is one line."""
    try:
        transformers = importlib.import_module("transformers")
    except ImportError as error:
        raise ImportError(
            f'{name}: models of transformers need that package: pip install "tailormix[huggingface]"'
        ) from error
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        return getattr(transformers, kind).from_pretrained(name)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError) as error:
        first = " ".join(str(error).split())[:200]
        raise ValueError(f"cannot load {kind} of {name!r} by transformers: {first}") from error


def mean_of_tokens(hidden: Tensor, mask: Tensor) -> Tensor:
    """Σ_t m_t h_t / Σ_t m_t: the mean over the tokens (n, L, d) that the mask (n, L) shows, (n, d).

    >>> import torch
    >>> hidden = torch.tensor([[[1.0], [3.0], [100.0]]])
    >>> mean_of_tokens(hidden, torch.tensor([[1, 1, 0]]))
    tensor([[2.]])
    """
    shown = mask[..., None].to(hidden.dtype)
    return (hidden * shown).sum(1) / shown.sum(1).clamp(min=1)
