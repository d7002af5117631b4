"""SK Mixup in a plain PyTorch loop: handwritten digits, a small network, and its calibration.

Run ``python examples/plain_loop.py``. It takes a few seconds.
"""

import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn

from tailormix import SKMixup
from tailormix.calibration import TemperatureScaling
from tailormix.metrics import accuracy, ece, nll


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    epochs = parser.parse_args(arguments).epochs

    torch.manual_seed(0)
    pixels, digits = load_digits(return_X_y=True)
    x, y = torch.tensor(pixels / 16, dtype=torch.float32), torch.tensor(digits)
    train, held, test = torch.randperm(len(x)).split([1077, 360, 360])

    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    mixup = SKMixup(tau_max=1.0, tau_std=0.25)
    for _ in range(epochs):
        for rows in train[torch.randperm(len(train))].split(64):
            loss = mixup.loss(model, x[rows], y[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    with torch.no_grad():
        logits, held_logits = model(x[test]), model(x[held])
    scaled = TemperatureScaling().fit(held_logits, y[held]).transform(logits)
    for name, z in (("as trained", logits), ("temperature", scaled)):
        p, t = z.softmax(1), y[test]
        print(f"{name:11}  accuracy {accuracy(p, t):.3f}  ECE {ece(p, t):.3f}  NLL {nll(p, t):.3f}")


if __name__ == "__main__":
    main()
