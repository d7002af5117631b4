"""``python -m benchmarks epochs``: an epoch of training, ours and by hand, and ten models at once.

The data are random, in memory and not augmented. All contenders take their steps in turns, and the median
step counts: what else a busy machine does then disturbs all alike.
"""

from __future__ import annotations

import collections
import contextlib
import random
import statistics
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from benchmarks.harness import CLOCKS, Record, Timing, markdown_table, race, record
from tailormix import models
from tailormix.data.splits import DataSplits, MemorySplit
from tailormix.methods import build_method
from tailormix.training.loop import begin, make_fabric
from tailormix.training.progress import silent
from tailormix.training.settings import Choice, Settings
from tailormix.training.together import fit_together
from tailormix.training.trainer import Setup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch import nn

    from tailormix.data.splits import Task
    from tailormix.training.trainer import Trainer

HAND = "by hand"
EVERY = 10  # epochs between refreshes of a bank
INTRODUCTION = """## An epoch

Ours is the training of `tailormix train`; by hand is a plain PyTorch loop with the same model, data and
optimiser. All take their steps in turns. An epoch with an embedding bank includes a tenth of the refresh.
*Ten seeds together* is `--together`, with validation and the last checkpoint. A missed target stays in the
table.
"""
MARKS = ("<!-- epochs: made by python -m benchmarks epochs -->", "<!-- end of epochs -->")


@dataclass(frozen=True)
class Case:
    """A model, its data and its optimiser, with targets: ours against a loop by hand, and SK Mixup's."""

    title: str
    model: str
    options: Mapping[str, Any]
    task: Task
    inputs: tuple[int, ...]
    outputs: int
    rows: int
    batch: int
    optimiser: Choice
    at_most: float
    exact: float | None = None
    banked: float | None = None
    validation: int = 0

    def data(self) -> DataSplits:
        """Random rows for training, and for validation where there are such."""
        draw, n = torch.Generator().manual_seed(0), self.rows + self.validation
        x, ids = torch.randn(n, *self.inputs, generator=draw), torch.arange(n)
        y = (
            ids % self.outputs
            if self.task == "classification"
            else torch.rand(n, self.outputs, generator=draw)
        )
        parts = (slice(self.rows), slice(self.rows, n), slice(n, n))
        train, validation, test = (MemorySplit(x[rows], y[rows], ids[rows]) for rows in parts)
        return DataSplits("random", self.task, train, validation, test, self.outputs)

    def new_model(self, seed: int = 0) -> nn.Module:
        """The model with weights of that seed."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return models.build(
                self.model,
                **{**models.shape_arguments(self.model, self.inputs, self.outputs), **self.options},
            )


CASES = (
    Case(
        "ResNet-8, 10 000 images",
        "resnet8",
        {},
        "classification",
        (3, 32, 32),
        10,
        10_000,
        128,
        Choice("sgd", {"lr": 1e-4}),
        at_most=1.05,
        exact=1.35,
        banked=1.05,
    ),
    Case(
        "MLP, 10 000 rows of 64",
        "mlp",
        {"hidden": [128]},
        "classification",
        (64,),
        10,
        10_000,
        64,
        Choice("adamw", {"lr": 1e-4}),
        at_most=1.25,
    ),
    Case(
        "LSTNet, 4373 windows of 168×8",
        "lstnet-skip",
        {},
        "regression",
        (168, 8),
        8,
        4373,
        128,
        Choice("adam", {"lr": 1e-4}),
        at_most=1.05,
    ),
)
AIRFOIL = Case(
    "Airfoil's FCN3, 1003 rows of 5",
    "fcn3",
    {},
    "regression",
    (5,),
    1,
    1003,
    16,
    Choice("adam", {"lr": 1e-3}),
    at_most=2.5,
    validation=300,
)


def run(clock: str, quick: bool) -> list[Record]:
    """All records; ``quick`` is two small batches of each case."""
    cases = [replace(case, rows=16, batch=8) if quick else case for case in (*CASES, AIRFOIL)]
    return [*(row for case in cases[:-1] for row in epoch(case, clock)), *together(cases[-1], clock, quick)]


def epoch(case: Case, clock: str) -> list[Record]:
    """An epoch of one model: by hand, ours without mixing, Mixup, and SK Mixup, exact and with a bank."""
    data = case.data()
    names = {"ours, erm": "erm", "ours, mixup": "mixup", "ours, sk-mixup": "sk-mixup"}
    exact, banked = "ours, sk-mixup", f"ours, sk-mixup with a bank every {EVERY} epochs"
    if case.task == "classification":  # distances of real targets need no embeddings
        names[banked] = "sk-mixup"
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        trainers = {
            name: new_trainer(case, data, method, folder / name, every=EVERY if name == banked else 0)
            for name, method in names.items()
        }
        steps = -(-case.rows // case.batch)
        refresh = 0.0
        if banked in trainers:
            passes = race({"refresh": trainers[banked].refresh_bank}, seconds=0, calls=3, clock=clock)
            refresh = passes["refresh"].median / EVERY
        contenders = {HAND: by_hand(case, data), **{name: ours(each) for name, each in trainers.items()}}
        found = take_turns(contenders, steps, clock)
    epochs = {name: each * steps + (refresh if name == banked else 0.0) for name, each in found.items()}
    timings = {name: Timing(each, each) for name, each in epochs.items()}
    title = "an epoch"
    rows = [record(title, case.title, "ours, erm", HAND, timings, at_most=case.at_most)]
    rows.append(record(title, case.title, "ours, mixup", HAND, timings))
    rows.append(record(title, case.title, exact, "ours, mixup", timings, at_most=case.exact))
    if banked in timings:
        rows.append(record(title, case.title, banked, "ours, mixup", timings, at_most=case.banked))
    return rows


def new_trainer(
    case: Case,
    data: DataSplits,
    method: str,
    path: Path,
    *,
    every: int = 0,
    seed: int = 0,
    epochs: int = 1000,
) -> Trainer:
    """A trainer as ``tailormix train`` has it."""
    settings = Settings(
        epochs=epochs,
        batch=case.batch,
        seed=seed,
        optimiser=case.optimiser,
        embeddings=Choice("measured", {"every": every}),
        accelerator="cpu",
        checkpoint_every=1e6,
    )
    path.mkdir(parents=True)
    classes = {"num_classes": case.outputs} if case.task == "classification" else {}

    def make() -> Setup:
        return Setup(data, case.new_model(seed), build_method(method, **classes))

    return begin(make_fabric(settings), make, settings, path, silent)


def ours(trainer: Trainer) -> Iterator[None]:
    """The steps of ``tailormix train``, epoch after epoch."""
    while trainer.state.epoch < trainer.settings.epochs:
        for _ in trainer.steps():
            trainer.save_if_due(0)
            yield
        trainer.finish_epoch()


def by_hand(case: Case, data: DataSplits) -> Iterator[None]:
    """The steps of a plain loop, epoch after epoch."""
    x, y = data.train.batch(torch.arange(case.rows))
    model = case.new_model()
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[case.optimiser.name]
    momentum = {"momentum": 0.9} if case.optimiser.name == "sgd" else {}
    optimiser = kind(model.parameters(), lr=case.optimiser.options["lr"], **momentum)
    criterion = functional.cross_entropy if case.task == "classification" else functional.mse_loss
    model.train()
    while True:
        total = 0.0
        for rows in torch.split(torch.randperm(case.rows), case.batch):
            loss = criterion(model(x[rows]), y[rows])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            total += loss.item()
            yield


def take_turns(contenders: Mapping[str, Iterator[None]], rounds: int, clock: str) -> dict[str, float]:
    """The median time of a step of each contender; in every round all take one, in random order."""
    order, shuffle, now = list(contenders), random.Random(0).shuffle, CLOCKS[clock]
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for name in order:
        next(contenders[name])  # the first step allocates
    for _ in range(rounds):
        shuffle(order)
        for name in order:
            started = now()
            next(contenders[name])
            times[name].append(now() - started)
    return {name: statistics.median(each) for name, each in times.items()}


def together(case: Case, clock: str, quick: bool) -> list[Record]:
    """Ten seeds of SK Mixup trained as one batch of models, against one seed, with validation."""
    now, epochs, data = CLOCKS[clock], 1 if quick else 100, case.data()
    ten, one = "ten seeds together", "one seed"
    times: dict[str, list[float]] = {ten: [], one: []}
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(1 if quick else 3):
            for name, seeds in ((ten, range(10)), (one, range(1))):
                trainers = [
                    new_trainer(
                        case,
                        data,
                        "sk-mixup",
                        Path(folder) / str(repeat) / name / str(seed),
                        seed=seed,
                        epochs=epochs,
                    )
                    for seed in seeds
                ]
                started = now()
                if name == ten:
                    fit_together(trainers)
                else:
                    collections.deque(ours(trainers[0]), maxlen=0)
                times[name].append(now() - started)
    timings = {name: Timing(min(each), statistics.median(each)) for name, each in times.items()}
    size = f"{case.title}, {epochs} epochs"
    return [record("many models at once", size, ten, one, timings, at_most=case.at_most)]


def section(records: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> str:
    """The section of the page."""
    rows = [
        [
            each["size"],
            each["contender"],
            each["peer"],
            f"{each['ratio']:.2f}",
            "" if each["at_most"] is None else f"{each['at_most']:.2f}",
            {None: "", True: "met", False: "not met"}[each["met"]],
        ]
        for each in records
    ]
    header = ["what", "contender", "against", "ratio", "target", ""]
    origin = (
        f"Made on {settings['date']} with tailormix {settings['tailormix']}, torch {settings['torch']}, "
        f"Python {settings['python']}, {settings['cores']} cores ({settings['processor']}), "
        f"threads: {settings['threads']}, {settings['clock']} clock."
    )
    return f"{INTRODUCTION}\n{markdown_table(header, rows)}\n\n{origin}"


def insert_section(page: str, text: str) -> str:
    """The page with this text between the two marks, which are added at the end if there are none.

    >>> page = insert_section(insert_section("before", "old"), "new")
    >>> page.count("before"), page.count("old"), page.count("new")
    (1, 0, 1)
    """
    before, _, rest = page.partition(MARKS[0])
    after = rest.partition(MARKS[1])[2] or "\n"
    return f"{before.rstrip()}\n\n{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}"


def kept_section(page: str) -> str:
    """The section of an older page, for a new one."""
    _, mark, rest = page.partition(MARKS[0])
    return f"\n{mark}{rest}" if mark else ""
