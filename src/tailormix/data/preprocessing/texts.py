"""Texts as embedded tokens."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch

from tailormix import checks
from tailormix.data.files.location import DataError
from tailormix.data.files.texts import read_own_texts
from tailormix.data.preprocessing.base import Preprocessing
from tailormix.pretrained import pretrained

if TYPE_CHECKING:
    from torch import Tensor

#: of the mask beside the embeddings: so small that distances do not notice it
MASK_SCALE = 2.0**-10


@final
class TextPreprocessing(Preprocessing):
    """Texts to tokens (n, length), and tokens to their embeddings beside a mask, (n, L, d + 1).

    ``tokenizer`` is the text of a ``tokenizer.json``, ``padding`` the number of the token that fills up, and
    ``words`` (tokens, d) the table of embeddings. Longer texts are cut. L is the length of the longest text
    of a batch.
    """

    kind = "text"
    words: Tensor

    def __init__(
        self, tokenizer: str, padding: int, length: int, shape: tuple[int, int], column: str = "text"
    ) -> None:
        super().__init__()
        self.tokenizer, self.padding, self.column = tokenizer, padding, column
        self.length = checks.integer("length", length, at_least=1)
        self.register_buffer("words", torch.zeros(*shape))

    @classmethod
    def of_model(cls, path: str, length: int) -> TextPreprocessing:
        """Tokenizer and embeddings of a model in a folder (or of a name) that transformers loads."""
        tokenizer = pretrained("AutoTokenizer", path, use_fast=True)
        if not getattr(tokenizer, "is_fast", False) or tokenizer.pad_token_id is None:
            raise ValueError(f"tokenizer must be a fast one with a padding token, got that of {path!r}")
        words = pretrained("AutoModel", path).get_input_embeddings().weight.detach()
        text = tokenizer.backend_tokenizer.to_str()
        made = cls(text, int(tokenizer.pad_token_id), length, tuple(words.shape))
        made.words = words.float().clone()
        return made

    def read(self, source: Any) -> Tensor:
        """Tokens (n, length) of a list of texts, of a table with a column of texts, or of a .txt file."""
        if isinstance(source, (str, Path)):
            source = read_own_texts(Path(source), self.column).texts
        elif isinstance(source, np.ndarray) or hasattr(source, "tolist"):
            source = source.tolist()
        if not isinstance(source, (list, tuple)) or not all(isinstance(text, str) for text in source):
            raise DataError(f"cannot use inputs: expected a list of texts, got {type(source).__name__}")
        tokenizer = importlib.import_module("tokenizers").Tokenizer.from_str(self.tokenizer)
        tokenizer.enable_truncation(self.length)
        tokenizer.enable_padding(length=self.length, pad_id=self.padding)
        rows = [encoding.ids for encoding in tokenizer.encode_batch(list(source))]
        return torch.tensor(rows, dtype=torch.int64).reshape(len(rows), self.length)

    def forward(self, raw: Tensor) -> Tensor:
        """Embedded tokens and their mask (n, L, d + 1)."""
        return embedded(raw, self.words, self.padding)

    def facts(self) -> dict[str, Any]:
        """The tokenizer, the padding, the length and the size of the table."""
        shape = list(self.words.shape)
        known = {"tokenizer": self.tokenizer, "padding": self.padding, "column": self.column}
        return {**known, "length": self.length, "shape": shape}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> TextPreprocessing:
        """Of those facts."""
        return cls(**{**facts, "shape": tuple(facts["shape"])})


def embedded(tokens: Tensor, words: Tensor, padding: int) -> Tensor:
    """The embeddings of tokens (n, length) with their mask, cut to the longest row.

    >>> embedded(torch.tensor([[2, 1, 0, 0]]), torch.tensor([[9.0], [1.0], [5.0]]), padding=0)[..., 0]
    tensor([[5., 1.]])
    """
    mask = tokens != padding
    longest = max(1, int(mask.sum(1).max()))
    return with_mask(words[tokens[:, :longest]], mask[:, :longest])


def with_mask(embeddings: Tensor, mask: Tensor) -> Tensor:
    """Embeddings of tokens, zero for padding, and the attention mask as one more feature: (n, L, d + 1).

    However two such tensors are blended, the last feature is positive where either of them has a token: the
    union of the masks.
    """
    shown = mask[..., None].to(embeddings.dtype)
    return torch.cat((embeddings * shown, shown * MASK_SCALE), dim=-1)
