"""Mixing in the loader, as with torchvision: SK Mixup by distances between images, as a collate function.

Run ``python examples/torchvision_collate.py``. With ``--after`` batches are mixed after the loader instead,
by distances between the embeddings of the network.
"""

from __future__ import annotations

import argparse

import torch
from torch.nn import functional
from torch.utils.data import DataLoader, default_collate

from digits import digits, tested
from tailormix import SKMixup
from tailormix.integrations.torchvision import BatchMixup, MixupCollate
from tailormix.models import build


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--after", action="store_true", help="mix after the loader, not in it")
    options = parser.parse_args(arguments)
    torch.manual_seed(0)
    train, test = digits()
    model = build("resnet8", in_channels=1, num_classes=10)
    transform = BatchMixup(SKMixup(num_classes=10), model=model) if options.after else lambda *batch: batch
    collate = default_collate if options.after else MixupCollate(SKMixup(space="input", num_classes=10))
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(options.epochs):
        model.train()
        for batch in DataLoader(train, batch_size=64, shuffle=True, collate_fn=collate):
            images, labels = transform(*batch)
            loss = functional.cross_entropy(model(images), labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        print(f"epoch {epoch + 1}  {tested(model, test)}")


if __name__ == "__main__":
    main()
