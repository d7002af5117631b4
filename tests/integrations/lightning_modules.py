"""Modules of Lightning as people have them, and fits of them on the CPU."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import torch
from lightning.pytorch import LightningModule, Trainer
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from nets import Staged
from tailormix.integrations.lightning import mixup_loss

if TYPE_CHECKING:
    from pathlib import Path

ROWS, CLASSES = 20, 3
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
CPU = {"accelerator": "cpu", "logger": False, "enable_progress_bar": False, "enable_model_summary": False}


class Pictures(Dataset[Any]):
    """Made-up pictures, each with its class and its number."""

    def __init__(self, form: type = list) -> None:
        draw = torch.Generator().manual_seed(0)
        self.x = torch.rand(ROWS, 1, 4, 4, generator=draw)
        self.y = torch.randint(CLASSES, (ROWS,), generator=draw)
        self.form = form

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> Any:
        x, y = self.x[index], self.y[index]
        return {"image": x, "label": y} if self.form is dict else (x, y, index)


class Net(LightningModule):
    """A module as people have it; keeps every batch that it was given."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = Staged(16, CLASSES)
        self.seen: dict[str, list[Any]] = {"train": [], "val": []}

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)

    def loss(self, kind: str, batch: Any) -> Tensor:
        self.seen[kind].append(batch)
        x, y = batch.values() if isinstance(batch, dict) else batch[:2]
        return functional.cross_entropy(self(x), y)

    def training_step(self, batch: Any, _: int) -> Tensor:
        return self.loss("train", batch)

    def validation_step(self, batch: Any, _: int) -> None:
        self.loss("val", batch)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)


class Stepping(Net):
    """A module whose training step is ``mixup_loss``."""

    def __init__(self, method: Any, criterion: Any = None, keep: bool = True, **more: Any) -> None:
        super().__init__()
        self.method, self.more = method, more
        self.held = (criterion,)
        if keep:
            self.criterion = criterion

    def training_step(self, batch: Any, _: int) -> Tensor:
        return mixup_loss(self, batch, self.method, self.held[0], model=self.net, **self.more)


def loader(form: type = list, **options: Any) -> DataLoader[Any]:
    return DataLoader(Pictures(form), batch_size=8, **options)


def fit(
    module: LightningModule, *callbacks: Any, epochs: int = 1, ckpt: Path | None = None, **more: Any
) -> Trainer:
    form, collate = more.pop("form", list), more.pop("collate_fn", None)
    options = {"max_epochs": epochs, "enable_checkpointing": False, **CPU, **more}
    trainer = Trainer(callbacks=list(callbacks), **options)
    trainer.fit(module, loader(form, collate_fn=collate), loader(form), ckpt_path=ckpt)
    return trainer


class Numbers(Pictures):
    """The same pictures with a real number each."""

    def __getitem__(self, index: int) -> Any:
        return self.x[index], self.x[index].mean().view(1)
