"""C-Mixup's partners: streamed by batch, against one scikit-learn density estimate a training point."""

from __future__ import annotations

import time

import numpy as np
import torch
from sklearn.neighbors import KernelDensity

from benchmarks.record import Record, record
from tailormix.batch import Batch, Draws, Pool
from tailormix.benching.timing import Timing, race
from tailormix.pairs import LabelDensity

BATCH, BANDWIDTH = 128, 1.0
OURS, PUBLISHED = "LabelDensity, an epoch", "KernelDensity a point, then choice"


def run(quick: bool) -> list[Record]:
    """Time all that an epoch asks of the pairing: preparation, and a partner for every training point."""
    n = 500 if quick else 4000
    labels = 125 + 7 * torch.randn(n, generator=torch.Generator().manual_seed(0))
    timings = race({OURS: lambda: _streamed(labels)}, seconds=0.1 if quick else 2.0, calls=1)
    start = time.perf_counter()
    _published(labels.double().numpy())
    seconds = time.perf_counter() - start  # once: it takes a minute, and no noise changes the picture
    timings[PUBLISHED] = Timing(seconds, seconds)
    return [record("C-Mixup partners", f"N = {n}", OURS, timings, against=PUBLISHED, at_least=100)]


def _streamed(labels: torch.Tensor) -> None:
    pairs, draws = LabelDensity(BANDWIDTH), Draws(labels.device)
    pool = Pool(labels, labels)
    for y in torch.split(labels, BATCH):
        pairs(Batch(y, y, pool=pool), draws)


def _published(labels: np.ndarray) -> None:
    """The N × N table of rates, one fit and one scoring a point, and a draw from each of its rows."""
    rows = labels[:, None]
    rates = np.stack(
        [
            np.exp(KernelDensity(kernel="gaussian", bandwidth=BANDWIDTH).fit(row[None]).score_samples(rows))
            for row in rows
        ]
    )
    rates /= rates.sum(1, keepdims=True)
    generator = np.random.default_rng(0)
    for rate in rates:
        generator.choice(len(labels), p=rate)
