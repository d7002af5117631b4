"""Texts as data sets: CLINC150 and Banking77, as tokens of a pretrained model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from tailormix.data.features import TEST, TRAIN, VALIDATION, part_rows
from tailormix.data.files.texts import READERS
from tailormix.data.preprocessing import TextPreprocessing
from tailormix.data.preprocessing.texts import embedded
from tailormix.data.splits import DataSplits, MemorySplit

if TYPE_CHECKING:
    from pathlib import Path

    import torch
    from torch import Tensor

LENGTH = 64


def load_clinc150(
    root: Path,
    seed: int,
    *,
    tokenizer: str | None = None,
    length: int = LENGTH,
    limit: int | None = None,
    shots: int | None = None,
    validation_shots: int | None = None,
) -> DataSplits:
    """Read the texts as tokens of the model in the folder ``tokenizer``; out-of-scope texts are a shift.

    Texts of more than ``length`` tokens are cut. For the model ``text-encoder`` of the same folder; all other
    options are those of :func:`tailormix.data.features.load_features`.
    """
    return _load(
        "clinc150", root, seed, tokenizer, length, limit=limit, shots=shots, validation_shots=validation_shots
    )


def load_banking77(
    root: Path,
    seed: int,
    *,
    tokenizer: str | None = None,
    length: int = LENGTH,
    validation: float = 0.2,
    limit: int | None = None,
    shots: int | None = None,
    validation_shots: int | None = None,
) -> DataSplits:
    """Read the texts as tokens, as :func:`load_clinc150` does; validation is cut from the training rows."""
    return _load(
        "banking77",
        root,
        seed,
        tokenizer,
        length,
        validation=validation,
        limit=limit,
        shots=shots,
        validation_shots=validation_shots,
    )


@dataclass(frozen=True, eq=False)
class Embedded:
    """Tokens (n, length) to their embeddings with a mask, on the device of the table of ``words``."""

    words: Tensor
    padding: int

    def __call__(self, rows: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Map tokens to (n, L, d + 1); nothing is drawn."""
        del generator
        return embedded(rows, self.words, self.padding)

    def to(self, device: torch.device | str) -> Embedded:
        """Return the transform with its table on ``device``."""
        return Embedded(self.words.to(device), self.padding)


def _load(
    name: str,
    root: Path,
    seed: int,
    tokenizer: str | None,
    length: int,
    *,
    validation: float = 0.0,
    limit: int | None,
    shots: int | None,
    validation_shots: int | None,
) -> DataSplits:
    texts = READERS[name](root)
    if tokenizer is None:
        raise ValueError(
            f"{name} holds texts, and a model takes numbers: make features of them "
            f"(tailormix features {name} --model FOLDER -o {name}.npz) and train on data=features with "
            f"data.path={name}.npz; or give data.tokenizer=FOLDER and model=text-encoder"
        )
    preprocessing, tokens = _tokens(name, root, str(tokenizer), length)
    parts = texts.rows()
    rows = part_rows(
        texts.labels,
        parts,
        seed,
        validation=validation,
        test=0.0,
        limit=limit,
        shots=shots,
        validation_shots=validation_shots,
    )
    transform = Embedded(preprocessing.words, preprocessing.padding)

    def split(part: Tensor) -> MemorySplit:
        return MemorySplit(tokens[part], texts.labels[part], part, transform)

    train, held, tested = map(split, rows)
    others = {part: split(found) for part, found in parts.items() if part not in (TRAIN, VALIDATION, TEST)}
    return DataSplits(
        name,
        "classification",
        train,
        held,
        tested,
        outputs=len(texts.class_names),
        class_names=texts.class_names,
        preprocessing=preprocessing,
        shifts=others,
    )


@lru_cache(maxsize=2)  # many runs of a study share them
def _tokens(name: str, root: Path, tokenizer: str, length: int) -> tuple[TextPreprocessing, Tensor]:
    """The preprocessing of a model, and all texts of a data set as its tokens (n, length)."""
    preprocessing = TextPreprocessing.of_model(tokenizer, length)
    return preprocessing, preprocessing.read(READERS[name](root).texts)
