"""Lightning with any method: in the training step, or by a callback that mixes the batches before it.

Run ``python examples/lightning_module.py --method regmixup``, or with ``--callback`` for methods that mix
batches. ``tailormix list methods`` names them.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from lightning.pytorch import LightningModule, Trainer, seed_everything
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader

from digits import digits, tested
from tailormix import Method, build_method
from tailormix.integrations.lightning import MixupCallback, mixup_loss
from tailormix.models import build


class Digits(LightningModule):
    """A small network; with a method it mixes in the training step, without one it trains as usual."""

    def __init__(self, method: Method | None = None) -> None:
        super().__init__()
        self.net = build("mlp", in_features=64, out_features=10)
        self.method = method

    def forward(self, x: Tensor) -> Tensor:
        """Logits (n, 10)."""
        return self.net(x.flatten(1))

    def training_step(self, batch: Any) -> Tensor:
        """The loss of a batch."""
        if self.method is not None:
            return mixup_loss(self, batch, self.method)
        x, y = batch
        return functional.cross_entropy(self(x), y)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam."""
        return torch.optim.Adam(self.parameters(), lr=3e-3)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--method", default="sk-mixup")
    parser.add_argument("--callback", action="store_true", help="mix in a callback, not in the training step")
    options = parser.parse_args(arguments)
    seed_everything(0, verbose=False)
    train, test = digits()
    method = build_method(options.method, num_classes=10)
    module = Digits(None if options.callback else method)
    trainer = Trainer(
        max_epochs=options.epochs,
        callbacks=[MixupCallback(method)] if options.callback else [],
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=False,
    )
    trainer.fit(module, DataLoader(train, batch_size=64, shuffle=True))
    print(tested(module, test))


if __name__ == "__main__":
    main()
