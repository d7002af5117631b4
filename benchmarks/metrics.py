"""Speed of measuring, as ratios against peers in the same run: one thread, best of several repeats.

    OMP_NUM_THREADS=1 python benchmarks/metrics.py

All classification metrics together are set against other libraries doing ECE alone, and temperature scaling
against L-BFGS with a strong-Wolfe line search over all logits.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS, CLASSES, REPEATS = 50_000, 1000, 5


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


def best_of(tasks: dict[str, Callable[[], object]], repeats: int = REPEATS) -> dict[str, float]:
    """Return the shortest time of each task in seconds; tasks take turns, so that noise hits all of them."""
    times: dict[str, float] = dict.fromkeys(tasks, float("inf"))
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            times[name] = min(times[name], time.perf_counter() - start)
    return times


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
    return float(temperature)


def measure_metrics(logits: torch.Tensor, targets: torch.Tensor) -> list[dict[str, Any]]:
    """Time all our classification metrics against ECE alone elsewhere."""
    from netcal.metrics import ECE
    from torchmetrics.functional.classification import multiclass_calibration_error

    from tailormix.metrics import summary

    probabilities, labels = logits.softmax(1).numpy(), targets.numpy()
    times = best_of(
        {
            "ours": lambda: summary(logits, targets, from_logits=True),
            "torchmetrics": lambda: multiclass_calibration_error(
                logits, targets, num_classes=logits.shape[1], n_bins=15
            ),
            "netcal": lambda: ECE(15).measure(probabilities, labels),
        }
    )
    return [
        _row("all classification metrics against torchmetrics' ECE alone", times, "torchmetrics", target=3),
        _row("all classification metrics against netcal's ECE alone (given softmax)", times, "netcal"),
    ]


def measure_temperature(logits: torch.Tensor, targets: torch.Tensor) -> list[dict[str, Any]]:
    """Time our temperature against L-BFGS, and say how far apart the two temperatures are."""
    from tailormix.posthoc import TemperatureScaling

    found: dict[str, float] = {}
    times = best_of(
        {
            "ours": lambda: found.update(ours=TemperatureScaling().fit(logits, targets).temperature),
            "L-BFGS": lambda: found.update(peer=wolfe_temperature(logits, targets)),
        },
        repeats=3,
    )
    row = _row("temperature scaling against L-BFGS with strong Wolfe", times, "L-BFGS", target=8)
    return [row | {"difference_of_T": abs(found["ours"] - found["peer"]), "T": found["ours"]}]


def _row(name: str, times: dict[str, float], peer: str, target: float | None = None) -> dict[str, Any]:
    ours, theirs = times["ours"], times[peer]
    return {"name": name, "ours_s": ours, "peer_s": theirs, "ratio": theirs / ours, "target": target}


def run() -> list[dict[str, Any]]:
    """Return one record a comparison; ``ratio`` says how many times faster ours is."""
    torch.set_num_threads(1)
    logits, targets = logits_and_targets()
    return measure_metrics(logits, targets) + measure_temperature(logits, targets)


if __name__ == "__main__":
    for record in run():
        print(record)
