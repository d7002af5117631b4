"""Hugging Face: a tiny BERT classifies synthetic reviews, mixed at its embedding layer.

Run ``python examples/huggingface_text.py --method regmixup``. Nothing is downloaded. Some of the reviews
are ambiguous, so that a confidence of 1 would be wrong.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from typing import Any

import torch
import transformers

from digits import score
from tailormix import build_method
from tailormix.integrations.huggingface import MixupTrainer

GOOD, BAD = ("lovely", "warm", "clever", "moving", "funny"), ("dull", "cold", "clumsy", "empty", "long")
THINGS = ("film", "plot", "cast", "music", "ending", "script")
WORDS = ("[PAD]", "[CLS]", "a", "the", "was", "and", *GOOD, *BAD, *THINGS)
LONGEST = 14


def review(draw: random.Random) -> tuple[list[str], int]:
    """One to three clauses; most of their adjectives have the mood of the label."""
    label = draw.randrange(2)
    words = ["[CLS]"]
    for clause in range(draw.randint(1, 3)):
        mood = GOOD if (draw.random() < 0.8) == bool(label) else BAD
        words += [*(["and"] if clause else []), "the", draw.choice(THINGS), "was", draw.choice(mood)]
    return words[:LONGEST], label


def encoded(words: list[str], label: int) -> dict[str, Any]:
    ids = [WORDS.index(word) for word in words]
    padding = [0] * (LONGEST - len(ids))
    return {"input_ids": ids + padding, "attention_mask": [1] * len(ids) + padding, "labels": label}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--reviews", type=int, default=400)
    parser.add_argument("--method", default="sk-mixup")
    options = parser.parse_args(arguments)
    draw = random.Random(0)
    train, test = ([encoded(*review(draw)) for _ in range(options.reviews)] for _ in range(2))
    transformers.set_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        num_labels=2,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
    )
    with tempfile.TemporaryDirectory() as folder:
        settings = transformers.TrainingArguments(
            folder,
            num_train_epochs=options.epochs,
            per_device_train_batch_size=16,
            learning_rate=5e-3,
            use_cpu=True,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
            dataloader_pin_memory=False,
        )
        trainer = MixupTrainer(
            model=transformers.BertForSequenceClassification(config),
            args=settings,
            train_dataset=train,
            method=build_method(options.method),
        )
        trainer.train()
        found = trainer.predict(test)
    print(score(torch.tensor(found.predictions), torch.tensor(found.label_ids)))


if __name__ == "__main__":
    main()
