"""A folder with a tiny BERT and its tokenizer, as transformers writes it."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import torch

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "card", "my", "lost", "is", "where", "money", "?")
WIDTH = 8


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    import transformers

    made = tempfile.TemporaryDirectory(prefix="tiny-bert-", ignore_cleanup_errors=True)
    folder = Path(made.name)
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = transformers.BertConfig(
            vocab_size=len(WORDS),
            hidden_size=WIDTH,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=32,
        )
        transformers.BertModel(config).save_pretrained(folder)
    return made


def tiny_bert() -> Path:
    """The folder, made once in a process."""
    return Path(_folder().name)
