"""A program for ``torchrun``: fits of Lightning and of Hugging Face's trainer on every rank.

``ranks.py OUT`` writes what each rank found to ``OUT/rank-N.json``.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from lightning.pytorch import LightningModule, Trainer
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from integrations.tiny_models import CLASSES, SGD, arguments, bert, sentences
from tailormix import ERM, Method, Plan, build_method
from tailormix.integrations.huggingface import MixupTrainer
from tailormix.integrations.lightning import MixupCallback, mixup_loss
from tailormix.interpolation import Linear
from tailormix.objectives import MixedTargets
from tailormix.pairs import RandomPairs

ROWS = 16
SEEN: dict[str, list[Any]] = {"all ranks": [], "lam": []}


@dataclass(frozen=True)
class Watched:
    """Uniform coefficients that note them, and whether distances would be taken over all ranks."""

    needs_embeddings: ClassVar[bool] = False

    def __call__(self, batch: Any, partner: Tensor, draws: Any) -> Plan:
        SEEN["all ranks"].append(batch.group is torch.distributed.group.WORLD)
        SEEN["lam"].append(draws.uniform(len(batch)).tolist())
        return Plan(partner, torch.tensor(SEEN["lam"][-1]))


class Net(LightningModule):
    """A module whose training step is the loss of a method, if it has one."""

    def __init__(self, method: Method | None) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, CLASSES))
        self.method = method

    def training_step(self, batch: Any) -> Tensor:
        if self.method is not None:
            return mixup_loss(self, batch, self.method, model=self.net)
        return functional.cross_entropy(self.net(batch[0]), batch[1])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def lightning_weights(method: Method | None, *callbacks: Any) -> list[float]:
    """The weights after an epoch of two steps on each of two ranks."""
    draw = torch.Generator().manual_seed(0)
    data = TensorDataset(torch.rand(ROWS, 4, generator=draw), torch.arange(ROWS) % CLASSES)
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    ranks = {"strategy": "ddp", "accelerator": "cpu", "devices": 2}
    trainer = Trainer(max_epochs=1, callbacks=list(callbacks), enable_checkpointing=False, **ranks, **quiet)
    module = Net(method)
    trainer.fit(module, DataLoader(data, batch_size=4))
    return flat(module.net)


def text_weights(folder: Path, method: Method) -> list[float]:
    """The weights after an epoch with two rows a step on each rank."""
    settings = arguments(folder, per_device_train_batch_size=2, **SGD)
    trainer = MixupTrainer(bert(), settings, train_dataset=sentences(), method=method)
    trainer.train()
    return flat(trainer.model)


def flat(model: nn.Module) -> list[float]:
    return torch.cat([value.detach().flatten() for value in model.parameters()]).tolist()


def main(out: Path) -> None:
    """Write this rank's findings."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    watched = Method(RandomPairs(), Watched(), Linear(), MixedTargets(), CLASSES)
    found: dict[str, Any] = {"callback": lightning_weights(None, MixupCallback(watched)), "seen": SEEN}
    found |= {name: lightning_weights(build_method(name)) for name in ("sk-mixup", "rankmixup")}
    found["text, erm"] = text_weights(out, ERM())
    found |= {f"text, {name}": text_weights(out, build_method(name)) for name in ("sk-mixup", "sk-regmixup")}
    found["text, watched"] = text_weights(out, watched)
    (out / f"rank-{os.environ['RANK']}.json").write_text(json.dumps(found))
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
