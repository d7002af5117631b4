"""Tiny models of transformers, made from their configurations, a few rows, and settings to train them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import transformers
from torch import Tensor

from nets import seeded

if TYPE_CHECKING:
    from pathlib import Path

ROWS, CLASSES, LENGTH = 12, 3, 6
SMALL = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
SGD = {"optim": "sgd", "learning_rate": 0.3, "max_grad_norm": 0.0}  # Adam would not notice a larger loss
STILL = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def bert(labels: int = CLASSES, seed: int = 0, **more: Any) -> Any:
    config = transformers.BertConfig(vocab_size=30, num_labels=labels, **SMALL, **{**STILL, **more})
    torch.manual_seed(seed)
    return transformers.BertForSequenceClassification(config)


def vit(labels: int = CLASSES, **more: Any) -> Any:
    config = transformers.ViTConfig(
        image_size=8, patch_size=4, num_channels=1, num_labels=labels, **SMALL, **{**STILL, **more}
    )
    torch.manual_seed(0)
    return transformers.ViTForImageClassification(config)


def sentences(targets: Any = None) -> list[dict[str, Any]]:
    """Sentences of 3 to 6 tokens, padded on the right."""
    tokens = torch.randint(1, 30, (ROWS, LENGTH), generator=seeded())
    lengths = 3 + torch.arange(ROWS) % 4
    mask = (torch.arange(LENGTH) < lengths[:, None]).long()
    labels = torch.arange(ROWS) % CLASSES if targets is None else targets
    rows = zip(tokens * mask, mask, labels, strict=True)
    return [{"input_ids": ids, "attention_mask": shown, "labels": label} for ids, shown, label in rows]


def pictures() -> list[dict[str, Any]]:
    x = torch.rand(ROWS, 1, 8, 8, generator=seeded())
    return [{"pixel_values": row, "labels": number % CLASSES} for number, row in enumerate(x)]


def collated(rows: list[dict[str, Any]]) -> dict[str, Tensor]:
    return transformers.default_data_collator(rows)


def arguments(folder: Path, **more: Any) -> transformers.TrainingArguments:
    """One epoch on the CPU that leaves nothing behind."""
    settings: dict[str, Any] = {
        "per_device_train_batch_size": 4,
        "num_train_epochs": 1,
        "learning_rate": 1e-2,
        "use_cpu": True,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "dataloader_pin_memory": False,
    }
    return transformers.TrainingArguments(str(folder), **{**settings, **more})
