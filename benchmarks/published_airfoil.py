"""SK Mixup on Airfoil as it was published: numpy for the batches, scipy for the warp, torch for the rest.

    OMP_NUM_THREADS=1 python -m benchmarks.published_airfoil FOLDER_OF_DATA EPOCHS

Rewritten from the description of the authors' code, which does not run as released: a shuffled pass over
the training rows in numpy arrays, partners from the whole training set, the inverse Beta distribution
function for each batch, Adam and the squared error as torch has them by default, the weights of the lowest
validation error, and Monte Carlo dropout on the test rows at the end. A run of tailormix is timed against it.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import numpy as np
import torch
from scipy import special
from torch import nn
from torch.nn import functional

BATCH, TRAIN, VALIDATION, PASSES = 16, 1003, 300, 50
TAU_MAX, TAU_STD = 1e-4, 0.5


def network() -> nn.Sequential:
    """FCN3."""
    first = (nn.Linear(5, 128), nn.LeakyReLU(0.1), nn.Dropout(0.2))
    return nn.Sequential(*first, nn.Linear(128, 128), nn.LeakyReLU(0.1), nn.Linear(128, 1))


def run(folder: Path, epochs: int) -> float:
    """Root mean squared error on the test rows after training on one thread."""
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    table = np.loadtxt(folder / "airfoil" / "airfoil_self_noise.dat", dtype=np.float32)
    x, y = table[:, :5], table[:, 5:]
    x = (x - x.min(0)) / (x.max(0) - x.min(0))
    train, validation, test = np.split(random.permutation(len(x)), [TRAIN, TRAIN + VALIDATION])
    model, criterion = network(), nn.MSELoss()
    optimiser, lowest, best = torch.optim.Adam(model.parameters(), lr=0.01), np.inf, None
    for _ in range(epochs):
        order = random.permutation(train)
        model.train()
        for start in range(0, TRAIN - BATCH + 1, BATCH):
            mine, theirs = order[start : start + BATCH], random.choice(train, BATCH)
            distance = ((y[mine] - y[theirs]) ** 2).sum(1)
            distance = distance / distance.mean() if distance.mean() > 0 else np.ones(BATCH)
            tau = TAU_MAX * np.exp((1 - distance) / (2 * TAU_STD**2))
            lam = special.betaincinv(tau, tau, random.random(BATCH)).astype(np.float32)[:, None]
            inputs = torch.tensor(lam * x[mine] + (1 - lam) * x[theirs])
            targets = torch.tensor(lam * y[mine] + (1 - lam) * y[theirs])
            loss = criterion(model(inputs), targets)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        model.eval()
        with torch.no_grad():
            error = criterion(model(torch.tensor(x[validation])), torch.tensor(y[validation])).item()
        if error <= lowest:
            lowest, best = error, copy.deepcopy(model)
    assert best is not None
    found = []
    with torch.no_grad():
        for _ in range(PASSES):
            hidden = functional.dropout(best[:2](torch.tensor(x[test])), 0.2)
            found.append(best[3:](hidden).numpy())
    return float(np.sqrt(((np.mean(found, 0) - y[test]) ** 2).mean()))


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(run(Path(sys.argv[1]), int(sys.argv[2])))
