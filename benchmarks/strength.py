"""``python -m benchmarks.strength``: rules for automatic strength, compared on validation rows alone.

Every data set is cut by seed into a test part that is never looked at (a fifth) and, of the rest, 60 % to
fit, 20 % to steer the strength and 20 % to score. One line of CSV per run; what is there is not run again.
All rules and seeds of one method and data set train at once, those of one seed with the same weights,
batches and draws.

By default the rules of the last round run on all tables and digits. The first round was all rules on some of
them (``--rules all --data saheart,wdbc --seeds 2``, and so on). A file that ``tailormix features`` wrote is
a data set too (``--data banking77-minilm``): its training rows are cut like those of a table.
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, field, replace
from pathlib import Path  # noqa: TC003, typer reads it
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import torch
import typer
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from tailormix import Step, build_method
from tailormix.atomic import write_atomically
from tailormix.calibration.temperature import TemperatureScaling
from tailormix.data.features import find_features, read_features
from tailormix.data.files.location import data_root
from tailormix.data.files.tables import read_table
from tailormix.data.preprocessing import TablePreprocessing
from tailormix.metrics import accuracy, aece, ece, nll
from tailormix.models.mlp import MLP
from tailormix.strength import confidence_gap, with_strength
from tailormix.training.joint_step import JointStep
from tailormix.training.optimisation import Schedule, TrainingBatch, build_optimiser
from tailormix.training.seeding import Stream, derive, reseed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from torch import Tensor

    Row = dict[str, Any]

EPOCHS, FIRST_SEED = 40, 100
METHODS = ("mixup", "sk-mixup", "regmixup", "sk-regmixup")
KEEL = (
    "australian", "contraceptive", "german", "led7digit", "mammographic", "pima", "saheart",
    "segment", "splice", "tic-tac-toe", "titanic", "vehicle", "vowel", "wdbc",
)  # fmt: skip
DATA = (*KEEL, "digits")
COLUMNS = (
    "data", "method", "rule", "seed", "accuracy", "gap", "ece", "nll", "ece_after", "nll_after",
    "lowest", "highest", "last",
)  # fmt: skip


def signed_ece(logits: Tensor, y: Tensor) -> float:
    """Adaptive ECE with the sign of the gap. (The mean of the signed gaps of bins is the gap itself.)"""
    return math.copysign(aece(logits.softmax(1), y), confidence_gap(logits, y))


def error_ratio(logits: Tensor, y: Tensor) -> float:
    """Errors against predicted errors, as a log ratio, with half an error more in both."""
    confidence, predicted = logits.softmax(1).max(1)
    wrong, predicted_wrong = float((predicted != y).sum()), float((1 - confidence).sum())
    return math.log((wrong + 0.5) / (predicted_wrong + 0.5))


def log_temperature(logits: Tensor, y: Tensor) -> float:
    """The log of the T of temperature scaling."""
    return math.log(TemperatureScaling().fit(logits, y).temperature)


def nll_slope(logits: Tensor, y: Tensor) -> float:
    """The derivative of the NLL in the scale of the logits: mean(E_p[z] - z_y)."""
    expected = (logits.softmax(1) * logits).sum(1)
    return float((expected - logits.gather(1, y[:, None])[:, 0]).mean())


#: what is measured after an epoch: above 0 where the model is too sure
SIGNALS: dict[str, Callable[[Tensor, Tensor], float]] = {
    "gap": confidence_gap,
    "signed ece": signed_ece,
    "error ratio": error_ratio,
    "log T": log_temperature,
    "nll slope": nll_slope,
}


@dataclass(frozen=True)
class Rule:
    """log s ← log s + gain · signal, and what may be changed about that.

    Attributes:
        signal: one of SIGNALS.
        gain: how fast the strength follows it; 0 fixes the strength.
        start, low, high: the first strength, the smallest and the largest.
        warmup: epochs before the loop closes.
        hold: stay at the start until the model is too sure for the first time.
        clip: the largest step of log s.
        decay: the gain in epoch e is gain / (1 + decay · e).
        memory: weight of the past in an exponential average of the signal.
        proportional: log s = log start + gain · signal instead.

    """

    signal: str = "gap"
    gain: float = 4.0
    start: float = 0.05
    low: float = 1e-3
    high: float = 8.0
    warmup: int = 0
    hold: bool = False
    clip: float = math.inf
    decay: float = 0.0
    memory: float = 0.0
    proportional: bool = False


RULES: dict[str, Rule] = {
    "fixed 0.05": Rule(gain=0),
    "fixed 0.2": Rule(gain=0, start=0.2),
    "fixed 1": Rule(gain=0, start=1.0),
    "prototype": Rule(),
    "gain 1": Rule(gain=1),
    "gain 2": Rule(gain=2),
    "gain 8": Rule(gain=8),
    "gain 16": Rule(gain=16),
    "start 0.2": Rule(start=0.2),
    "start 0.2, gain 8": Rule(start=0.2, gain=8),
    "start 0.5": Rule(start=0.5),
    "start 0.5, gain 8": Rule(start=0.5, gain=8),
    "start 1": Rule(start=1.0),
    "start 1, gain 8": Rule(start=1.0, gain=8),
    "warm-up 5": Rule(warmup=5),
    "warm-up 10, gain 8": Rule(warmup=10, gain=8),
    "hold": Rule(hold=True),
    "hold, gain 8": Rule(hold=True, gain=8),
    "hold, start 0.2": Rule(hold=True, start=0.2),
    "floor at start": Rule(low=0.05),
    "clip 0.2, gain 8": Rule(clip=0.2, gain=8),
    "sign, steps of 0.2": Rule(clip=0.2, gain=1e6),
    "decay": Rule(gain=8, decay=0.1),
    "average": Rule(memory=0.7),
    "signed ece": Rule(signal="signed ece"),
    "error ratio 0.2": Rule(signal="error ratio", gain=0.2),
    "error ratio 0.5": Rule(signal="error ratio", gain=0.5),
    "log T 0.5": Rule(signal="log T", gain=0.5),
    "log T 1": Rule(signal="log T", gain=1.0),
    "log T 1, hold": Rule(signal="log T", gain=1.0, hold=True),
    "nll slope 0.5": Rule(signal="nll slope", gain=0.5),
    "proportional 20": Rule(gain=20, proportional=True),
    "proportional 40": Rule(gain=40, proportional=True),
}
LAST_ROUND = ("fixed 0.05", "fixed 0.2", "fixed 1", "prototype", "start 0.2", "start 1", "hold")


@dataclass
class Loop:
    """A rule at work on one model; ``value`` is the strength, a 0-d tensor inside its method."""

    rule: Rule
    waiting: bool = True
    average: float = 0.0
    history: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.value = torch.tensor(self.rule.start)

    def observe(self, logits: Tensor, y: Tensor) -> None:
        """Set the strength of the next epoch."""
        rule = self.rule
        self.history.append(float(self.value))
        epoch = len(self.history)
        if rule.gain == 0 or epoch <= rule.warmup:
            return
        signal = SIGNALS[rule.signal](logits, y)
        self.average = signal if epoch == 1 else rule.memory * self.average + (1 - rule.memory) * signal
        self.waiting = self.waiting and rule.hold and self.average <= 0
        if self.waiting:
            return
        step = rule.gain / (1 + rule.decay * epoch) * self.average
        step = min(max(step, -rule.clip), rule.clip)
        before = math.log(rule.start if rule.proportional else float(self.value))
        self.value.fill_(min(max(math.exp(min(before + step, 50)), rule.low), rule.high))


@dataclass(frozen=True, eq=False)
class Parts:
    """Inputs and targets of the three parts, each a pair of tensors, and the rows of a step."""

    fit: tuple[Tensor, Tensor]
    steer: tuple[Tensor, Tensor]
    score: tuple[Tensor, Tensor]
    classes: int
    batch: int = 32


def load(name: str, seed: int) -> Parts:
    """A data set without its test part, cut by seed; the preprocessing is fitted on the rows to fit."""
    table: Any
    if name == "digits":
        table, y = load_digits(return_X_y=True)
    elif name in KEEL:
        lines = (data_root() / "keel" / f"{name}.dat").read_text(encoding="utf-8").splitlines()
        *cells, labels = zip(*(line.replace(" ", "").split(",") for line in lines if line), strict=True)
        table = read_table({f"x{k}": list(column) for k, column in enumerate(cells)})
        y = np.unique(labels, return_inverse=True)[1]
    else:
        file = read_features(find_features(name, data_root()))
        table, y = (tensor[file.parts["train"]].numpy() for tensor in (file.x, file.y))
    rest, _ = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed)
    fit, held = train_test_split(rest, test_size=0.4, stratify=y[rest], random_state=seed)
    steer, score = train_test_split(held, test_size=0.5, stratify=y[held], random_state=seed)
    preprocessing = TablePreprocessing.fit(table[fit])
    parts = [
        (preprocessing(preprocessing.read(table[rows])), torch.from_numpy(y[rows]).long())
        for rows in (fit, steer, score)
    ]
    return Parts(parts[0], parts[1], parts[2], int(y.max()) + 1, 32 if name in DATA else 128)


def step_of(
    features: int, outputs: int, method: str, strength: Tensor, seed: int, dropout: float = 0.2
) -> Step:
    """A step of the estimators' network, with weights of this seed; one output means real targets."""
    with torch.random.fork_rng(devices=[]):
        reseed(derive(seed, Stream.WEIGHTS), torch.device("cpu"))
        model = MLP(features, outputs, (128, 128), dropout)
    options: dict[str, Any] = {"partners": "batch"} if method == "c-mixup" else {}
    built = build_method(method, num_classes=outputs if outputs > 1 else None, **options)
    if method == "erm":
        return Step(model, built)
    return Step(model, replace(built, coefficients=with_strength(built.coefficients, strength)))


def epochs_of(
    steps: Sequence[Step], seeds: Sequence[int], data: Mapping[int, tuple[Tensor, Tensor]], batch: int
) -> Iterator[int]:
    """Train all steps at once, as the estimators do, each on its seed's data; yields after each epoch."""
    joint = JointStep(steps)
    optimiser = build_optimiser("adamw", joint.parameters.values(), {"lr": 3e-3})
    number = math.ceil(len(data[seeds[0]][0]) / batch)
    schedule = Schedule(optimiser, "cosine", {}, epochs=EPOCHS, steps=number)
    for epoch in range(EPOCHS):
        for step in steps:
            step.train()
        columns = [_batches(x, y, number, seed, epoch) for seed, (x, y) in data.items()]
        for found in zip(*columns, strict=True):
            batches = dict(zip(data, found, strict=True))
            schedule.advance()
            joint.losses([batches[seed] for seed in seeds]).sum().backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            optimiser.zero_grad()
        yield epoch


def _batches(x: Tensor, y: Tensor, number: int, seed: int, epoch: int) -> list[TrainingBatch]:
    shuffle = torch.Generator().manual_seed(derive(seed, Stream.ORDER, epoch))
    order = torch.randperm(len(x), generator=shuffle).tensor_split(number)
    return [
        TrainingBatch(x[rows], y[rows], derive(seed, Stream.STEP, epoch, k)) for k, rows in enumerate(order)
    ]


def train(parts: Mapping[int, Parts], method: str, rules: Mapping[str, Rule]) -> list[Row]:
    """Train one model by each rule on the parts of each seed; their scores."""
    members = [(seed, name, Loop(rule)) for seed in parts for name, rule in rules.items()]
    first = next(iter(parts.values()))
    steps = [
        step_of(first.fit[0].shape[1], first.classes, method, loop.value, seed) for seed, _, loop in members
    ]
    data = {seed: each.fit for seed, each in parts.items()}
    for _ in epochs_of(steps, [seed for seed, _, _ in members], data, first.batch):
        for (seed, _, loop), step in zip(members, steps, strict=True):
            x, y = parts[seed].steer
            loop.observe(_logits(step, x), y)
    return [
        {"rule": name, "seed": seed, **_scores(parts[seed], step, loop.history)}
        for (seed, name, loop), step in zip(members, steps, strict=True)
    ]


@torch.no_grad()
def _logits(step: Step, x: Tensor) -> Tensor:
    logits: Tensor = step.eval().model(x)
    return logits.double()


def _scores(parts: Parts, step: Step, strengths: Sequence[float]) -> Row:
    """Metrics of the rows to score, before and after a temperature from the rows to steer."""
    y, logits = parts.score[1], _logits(step, parts.score[0])
    temperature = TemperatureScaling().fit(_logits(step, parts.steer[0]), parts.steer[1])
    p, after = logits.softmax(1), temperature.transform(logits).softmax(1)
    found = {
        "accuracy": accuracy(p, y), "gap": confidence_gap(logits, y), "ece": ece(p, y), "nll": nll(p, y),
        "ece_after": ece(after, y), "nll_after": nll(after, y),
        "lowest": min(strengths), "highest": max(strengths), "last": strengths[-1],
    }  # fmt: skip
    return {key: f"{value:.5g}" for key, value in found.items()}


def read_rows(path: Path) -> list[Row]:
    """The runs that are there."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: Iterable[Row], columns: Sequence[str] = COLUMNS) -> None:
    """All runs, as one file."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, text.getvalue())


def main(
    out: Annotated[Path, typer.Option(dir_okay=False, help="CSV of all runs; missing ones are added.")],
    data: Annotated[str, typer.Option(help="Data sets, by commas.")] = ",".join(DATA),
    methods: Annotated[str, typer.Option(help="Methods, by commas.")] = ",".join(METHODS),
    rules: Annotated[str, typer.Option(help="Names by semicolons, or all.")] = ";".join(LAST_ROUND),
    seeds: Annotated[int, typer.Option(min=1, help="Seeds.")] = 3,
) -> None:
    """Run what is missing of data sets x methods x rules x seeds."""
    torch.set_num_threads(1)
    chosen = RULES if rules == "all" else {name: RULES[name] for name in rules.split(";")}
    rows = read_rows(out)
    known = {(row["data"], row["method"], row["rule"], int(row["seed"])) for row in rows}
    for name in data.split(","):
        parts = {seed: load(name, seed) for seed in range(FIRST_SEED, FIRST_SEED + seeds)}
        for method in ("erm", *methods.split(",")):
            wanted = {"erm": Rule(gain=0)} if method == "erm" else chosen
            missing = {
                seed: {rule: each for rule, each in wanted.items() if (name, method, rule, seed) not in known}
                for seed in parts
            }
            for alike in train_together(parts, missing):
                found = train({seed: parts[seed] for seed in alike}, method, missing[alike[0]])
                rows += [{"data": name, "method": method, **row} for row in found]
                write_rows(out, rows)


def train_together(parts: Mapping[int, Parts], missing: Mapping[int, Mapping[str, Rule]]) -> list[list[int]]:
    """Seeds that miss the same rules and whose parts have the same shapes, in groups."""
    groups: dict[Any, list[int]] = {}
    for seed, each in parts.items():
        if missing[seed]:
            groups.setdefault((*missing[seed], each.fit[0].shape), []).append(seed)
    return list(groups.values())


if __name__ == "__main__":
    typer.run(main)
