"""A loop in the style of timm's training script: its ``mixup_fn`` is SK Mixup, switched off at the end.

Run ``python examples/timm_style.py``. With timm installed, ``--model timm:resnet10t`` and the like work too.
"""

from __future__ import annotations

import argparse

import torch
from torch.nn import functional
from torch.utils.data import DataLoader

from digits import digits, tested
from tailormix import SKMixup
from tailormix.integrations.timm import MixupFn
from tailormix.models import build
from tailormix.models.registry import shape_arguments


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--mixup-off-epoch", type=int, default=2, help="no mixing from this epoch on")
    parser.add_argument("--model", default="resnet8")
    options = parser.parse_args(arguments)
    torch.manual_seed(0)
    train, test = digits()
    model = build(options.model, **shape_arguments(options.model, (1, 8, 8), 10))
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    mixup_fn = MixupFn(SKMixup(num_classes=10), model=model, label_smoothing=0.1)
    for epoch in range(options.epochs):
        if epoch >= options.mixup_off_epoch:
            mixup_fn.mixup_enabled = False
        model.train()
        for x, target in DataLoader(train, batch_size=64, shuffle=True):
            x, target = mixup_fn(x, target)
            loss = functional.cross_entropy(model(x), target)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        print(
            f"epoch {epoch + 1}  mixing {'on' if mixup_fn.mixup_enabled else 'off':3}  {tested(model, test)}"
        )


if __name__ == "__main__":
    main()
