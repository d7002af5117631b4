"""One run of an experiment: train, evaluate, and evaluate again on what else was asked for."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from tailormix.experiments import building
from tailormix.experiments.record import check_execution, check_experiment, write_record
from tailormix.experiments.shifts import evaluate_shifts, missing_shifts
from tailormix.experiments.trained import save_description
from tailormix.methods import METHODS
from tailormix.training import run_folder
from tailormix.training.loop import make_fabric, run
from tailormix.training.progress import silent, tensorboard

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tailormix.experiments.experiment import Experiment
    from tailormix.training.loop import Setup
    from tailormix.training.progress import Reporter


def run_experiment(
    experiment: Experiment,
    path: Path,
    *,
    report: Reporter = silent,
    say: Callable[[str], None] = lambda _: None,
    with_tensorboard: bool = False,
    allow_other_ranks: bool = False,
) -> dict[str, Any]:
    """Train and evaluate into ``path``. A run that was stopped resumes; a finished one is not repeated.

    ``say`` hears once what the data has to note. A run resumes on the number of ranks that it began on, since
    their draws differ, unless ``allow_other_ranks``; its result then says so.
    """
    if (done := finished_result(experiment, path)) is not None:
        return done
    run_folder.prepare(path)
    with contextlib.ExitStack() as stack:
        if is_first_rank():
            stack.enter_context(run_folder.locked(path))
        result = run_folder.read_json(path / run_folder.RESULT)
        if result is None:
            reporters = [report]
            if with_tensorboard and is_first_rank():
                reporters.append(stack.enter_context(tensorboard(path / "tensorboard")))

            def report_all(row: Mapping[str, Any], epochs: int) -> None:
                for reporter in reporters:
                    reporter(row, epochs)

            result = train_experiment(experiment, path, report_all, say, allow_other_ranks)
        return evaluate_shifts(experiment, path, result)


def finished_result(experiment: Experiment, path: Path) -> dict[str, Any] | None:
    """The result in ``path``, None if anything is left to do; a folder of another experiment is refused.

    Nothing is written: a finished run may be on a disk that is read-only.
    """
    check_experiment(experiment, path)
    result = run_folder.read_json(path / run_folder.RESULT)
    return None if result is None or missing_shifts(experiment.training.also, result) else result


def train_experiment(
    experiment: Experiment, path: Path, report: Reporter, say: Callable[[str], None], allow_other_ranks: bool
) -> dict[str, Any]:
    """Train and evaluate on the experiment's own data. The folder is claimed when everything is built."""
    settings = experiment.training
    fabric = make_fabric(settings)
    execution = check_execution(path, fabric.world_size, settings.batch, allow_other_ranks)
    method = experiment.method.name
    passes = METHODS[method].passes if method in METHODS else None  # nobody knows those of a plug-in
    facts = {
        "seed": settings.seed,
        "method": method,
        "batches_in_memory": None if passes is None else batches_in_memory(passes),
        "execution": execution,
    }

    def make() -> Setup:
        setup = building.build(experiment, fabric.device)
        if fabric.is_global_zero:
            write_record(experiment, path, execution)
            save_description(path, experiment, setup.data)
            for note in setup.data.notes:
                say(note)
        return setup

    return run(fabric, make, settings, path, report=report, facts=facts)


def is_first_rank() -> bool:
    """Whether this process writes and prints for all that ``torchrun`` started; a single one does."""
    return os.environ.get("RANK", "0") == "0"


def batches_in_memory(passes: str) -> int:
    """How many batches a step holds at once for its gradient (METHODS' ``passes``).

    Partners do not count, wherever they come from: the blend is written over their copy before the network
    sees it. The paper counts C-Mixup's, which come from the training set, as a second batch.

    >>> batches_in_memory("n + 3n"), batches_in_memory("n + n without gradient")
    (4, 1)
    """
    terms = [term.strip() for term in passes.split("+") if "without" not in term]
    return sum(int(term.removesuffix("n") or "1") for term in terms)
