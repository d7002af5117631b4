"""Speed of measuring: all classification metrics against other libraries' ECE alone, and temperature scaling.

The peer of temperature scaling is the usual recipe: L-BFGS over all logits with a strong-Wolfe line search.
"""

from __future__ import annotations

import torch
from netcal.metrics import ECE
from torchmetrics.functional.classification import multiclass_calibration_error

from benchmarks.record import Record, record
from tailormix.benching.timing import race
from tailormix.calibration import TemperatureScaling
from tailormix.metrics import summary

OURS, TORCHMETRICS, NETCAL = "all metrics", "torchmetrics' ECE alone", "softmax and netcal's ECE alone"
NEWTON, LBFGS = "temperature", "L-BFGS, strong Wolfe"
ROWS, CLASSES = 50_000, 1000


def logits_and_targets(
    rows: int = ROWS, classes: int = CLASSES, seed: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return logits of an over-confident classifier: targets follow softmax(z / 1.7)."""
    random = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, classes, generator=random) * 2
    peak = torch.randint(0, classes, (rows,), generator=random)
    logits[torch.arange(rows), peak] += 4 + 4 * torch.rand(rows, generator=random)
    drawn = [
        torch.multinomial((part / 1.7).softmax(1), 1, generator=random) for part in torch.split(logits, 5000)
    ]
    return logits, torch.cat(drawn)[:, 0]


def wolfe_temperature(logits: torch.Tensor, targets: torch.Tensor) -> float:
    """Fit T the usual way: L-BFGS on all logits, strong-Wolfe line search."""
    temperature = torch.ones(1, requires_grad=True)
    optimiser = torch.optim.LBFGS([temperature], max_iter=100, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(logits / temperature, targets)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimiser.step(closure)  # type: ignore[no-untyped-call]
    return float(temperature.detach())


def measure_metrics(logits: torch.Tensor, targets: torch.Tensor, seconds: float) -> list[Record]:
    """Time all our classification metrics against ECE alone elsewhere."""
    labels = targets.numpy()
    timings = race(
        {
            OURS: lambda: summary(logits, targets, from_logits=True),
            TORCHMETRICS: lambda: multiclass_calibration_error(
                logits, targets, num_classes=logits.shape[1], n_bins=15
            ),
            NETCAL: lambda: ECE(15).measure(logits.softmax(1).numpy(), labels),
        },
        seconds=seconds,
        calls=1,
    )
    size = "×".join(map(str, logits.shape))
    return [
        record("metrics", size, OURS, timings, against=TORCHMETRICS, at_least=3),
        record("metrics", size, OURS, timings, against=NETCAL),
    ]


def measure_temperature(logits: torch.Tensor, targets: torch.Tensor, seconds: float) -> list[Record]:
    """Time our temperature against L-BFGS, and say how far apart the two temperatures are."""
    found: dict[str, float] = {}
    timings = race(
        {
            NEWTON: lambda: found.update(ours=TemperatureScaling().fit(logits, targets).temperature),
            LBFGS: lambda: found.update(peer=wolfe_temperature(logits, targets)),
        },
        seconds=seconds,
        calls=1,
    )
    row = record("metrics", "×".join(map(str, logits.shape)), NEWTON, timings, against=LBFGS, at_least=8)
    return [row | {"T": found["ours"], "difference_of_T": abs(found["ours"] - found["peer"])}]


def run(quick: bool) -> list[Record]:
    """One record a comparison."""
    logits, targets = logits_and_targets(*((2_000, 100) if quick else (ROWS, CLASSES)))
    seconds = 0.1 if quick else 10.0
    return measure_metrics(logits, targets, seconds) + measure_temperature(logits, targets, seconds)
