"""``python -m benchmarks.strength_regression``: can squared errors steer the strength, on UCI tables?

log s ← log s + gain · log(mean squared error / mean predicted variance), the variance by MC dropout. Training
rows of the owner's splits alone: 60 % to fit, 20 % to steer and 20 % to score. One line of CSV per run.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from pathlib import Path  # noqa: TC003, typer reads it
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import torch
import typer

from benchmarks.harness import markdown_table
from benchmarks.strength import epochs_of, read_rows, step_of, write_rows
from benchmarks.strength_tables import by_data, differences, with_error
from tailormix.calibration.dropout import predict
from tailormix.calibration.variance import VarianceScaling
from tailormix.data.files.location import data_root
from tailormix.metrics import gaussian_nll, rmse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch import Tensor

    from tailormix.method import Step

TABLES = ("autompg", "concrete", "energy", "yacht")
METHODS = ("mixup", "sk-mixup", "c-mixup")
#: start and gain; a gain of 0 fixes the strength
RULES = {
    "fixed 0.001": (0.001, 0.0), "fixed 0.05": (0.05, 0.0), "fixed 0.2": (0.2, 0.0), "fixed 1": (1.0, 0.0),
    "auto 0.05": (0.05, 0.05), "auto 0.2": (0.05, 0.2), "auto 0.5": (0.05, 0.5),
}  # fmt: skip
BATCH, DROPOUT, SAMPLES = 32, 0.4, 20
COLUMNS = ("data", "method", "rule", "split", "rmse", "ratio", "nll", "nll_after", "last")
Part = tuple["Tensor", "Tensor"]


def load(name: str, split: int) -> list[Part]:
    """Inputs and targets of the parts to fit, to steer and to score, standardised by the first."""
    folder = data_root() / "uci" / name
    table = np.loadtxt(folder / "data.csv.gz", delimiter=",")
    test = np.loadtxt(folder / "test_mask.csv.gz", delimiter=",")[:, split]
    rows = np.random.RandomState(split).permutation(np.flatnonzero(test == 0))
    parts = np.split(table[rows], [int(0.6 * len(rows)), int(0.8 * len(rows))])
    mean, std = parts[0].mean(0), parts[0].std(0)
    scaled = [torch.from_numpy((part - mean) / np.where(std > 0, std, 1)).float() for part in parts]
    return [(part[:, :-1], part[:, -1:]) for part in scaled]


def train(parts: list[Part], method: str, rules: dict[str, tuple[float, float]], seed: int) -> list[Any]:
    """Train one model by each rule, at once; their scores."""
    (x, y), steer, score = parts
    strengths = [torch.tensor(start) for start, _ in rules.values()]
    steps = [step_of(x.shape[1], 1, method, value, seed, DROPOUT) for value in strengths]
    for _ in epochs_of(steps, [seed] * len(steps), {seed: (x, y)}, BATCH):
        for step, value, (_, gain) in zip(steps, strengths, rules.values(), strict=True):
            if gain:
                moved = math.log(float(value)) + gain * log_ratio(step, *steer)
                value.fill_(min(max(math.exp(moved), 1e-3), 8.0))
    return [
        {"rule": rule, "last": f"{float(value):.4g}", **scores(step, steer, score)}
        for rule, step, value in zip(rules, steps, strengths, strict=True)
    ]


def log_ratio(step: Step, x: Tensor, y: Tensor) -> float:
    """log(mean squared error / mean variance of MC dropout): above 0 where the model is too sure."""
    mean, std = outputs(step, x)
    return math.log(float((y - mean).square().mean()) / float(std.square().mean()))


@torch.no_grad()
def outputs(step: Step, x: Tensor) -> Part:
    """Predictions without dropout, and standard deviations with it."""
    std = predict(step.model, x, samples=SAMPLES).std.clamp_min(1e-6)
    return step.eval().model(x), std


def scores(step: Step, steer: Part, score: Part) -> dict[str, str]:
    """RMSE, and Gaussian NLL before and after variance scaling on the steering rows."""
    mean, std = outputs(step, score[0])
    after = VarianceScaling().fit(*outputs(step, steer[0]), steer[1]).transform(std)
    found = {
        "rmse": rmse(mean, score[1]), "ratio": log_ratio(step, *score),
        "nll": gaussian_nll(mean, std, score[1]), "nll_after": gaussian_nll(mean, after, score[1]),
    }  # fmt: skip
    return {key: f"{value:.5g}" for key, value in found.items()}


def main(
    out: Annotated[Path, typer.Option(dir_okay=False, help="CSV of all runs; missing ones are added.")],
    splits: Annotated[int, typer.Option(min=1, max=10, help="Splits of each table.")] = 3,
) -> None:
    """Run what is missing, then print the means."""
    torch.set_num_threads(1)
    rows = read_rows(out)
    known = {(row["data"], row["method"], row["rule"], int(row["split"])) for row in rows}
    for name, split, method in itertools.product(TABLES, range(splits), ("erm", *METHODS)):
        wanted = {"erm": (1.0, 0.0)} if method == "erm" else RULES
        missing = {key: value for key, value in wanted.items() if (name, method, key, split) not in known}
        if missing:
            found = train(load(name, split), method, missing, split)
            rows += [{"data": name, "method": method, "split": split, **row} for row in found]
            write_rows(out, rows, COLUMNS)
    typer.echo(table(rows))


def table(rows: Iterable[Mapping[str, str]]) -> str:
    """Means over tables: RMSE, log ratio, NLL after variance scaling and its difference to ERM, strength."""
    found: dict[tuple[str, str, str], dict[tuple[str, str], float]] = defaultdict(dict)
    for row in rows:
        for metric in ("rmse", "ratio", "nll_after", "last"):
            found[metric, row["method"], row["rule"]][row["data"], row["split"]] = float(row[metric])

    def line(method: str, rule: str) -> list[str]:
        means = {
            metric: fmean(by_data(found[metric, method, rule]).values())
            for metric in ("rmse", "ratio", "nll_after", "last")
        }
        against = differences(found["nll_after", method, rule], found["nll_after", "erm", "erm"])
        last = [with_error(against.values(), 3), f"{means['last']:.3g}"] if method != "erm" else ["", ""]
        return [method, rule, *(f"{means[each]:.3f}" for each in ("rmse", "ratio", "nll_after")), *last]

    header = [
        "method",
        "strength",
        "RMSE",
        "log(error² / variance)",
        "NLL scaled",
        "… − ERM",
        "last strength",
    ]
    kinds = [("erm", "erm"), *itertools.product(METHODS, RULES)]
    return markdown_table(header, [line(*kind) for kind in kinds if found["rmse", *kind]])


if __name__ == "__main__":
    typer.run(main)
