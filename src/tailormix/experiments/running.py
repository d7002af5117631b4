"""Run an experiment, or several together: train, evaluate, and evaluate again on what else was asked for."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

import torch

from tailormix.experiments import building
from tailormix.experiments.record import check_execution, check_experiment, write_record
from tailormix.experiments.shifts import evaluate_shifts, missing_shifts
from tailormix.experiments.trained import save_description
from tailormix.methods import METHODS
from tailormix.training import run_folder
from tailormix.training.loop import begin, conclude, make_fabric, run
from tailormix.training.progress import silent, tensorboard
from tailormix.training.together import FREE, fit_together
from tailormix.training.trainer import NonFiniteLoss

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from lightning_fabric import Fabric

    from tailormix.data.splits import DataSplits
    from tailormix.experiments.experiment import Experiment
    from tailormix.training.progress import Reporter
    from tailormix.training.trainer import Setup


MOST_TOGETHER = 32  # models in one batch of models: more gain little and need memory


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


def run_together(
    experiments: Sequence[Experiment],
    paths: Sequence[Path],
    *,
    report: Reporter = silent,
    say: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any] | Exception]:
    """Train experiments that differ in seed and numbers alone as one batch of models; results or errors.

    Folders and results are those of single runs. ``report`` hears of the first run alone. Raises
    :class:`tailormix.training.joint_step.NotStackable` before any training where that is not possible.
    """
    found: list[Any] = [finished_result(*each) for each in zip(experiments, paths, strict=True)]
    todo = [k for k, result in enumerate(found) if result is None]
    if not todo:
        return found
    fabric = make_fabric(experiments[todo[0]].training)
    with contextlib.ExitStack() as stack:
        for k in todo:
            stack.enter_context(run_folder.locked(run_folder.prepare(paths[k])))
        stack.enter_context(
            torch.random.fork_rng(devices=[fabric.device] if fabric.device.type == "cuda" else [])
        )
        loaded: dict[str, DataSplits] = {}
        runs = [
            make_run(
                experiments[k],
                paths[k],
                fabric,
                say if k == todo[0] else lambda _: None,
                together=len(todo),
                loaded=loaded,
            )
            for k in todo
        ]
        trainers = [
            begin(fabric, make, experiments[k].training, paths[k], report if k == todo[0] else silent)
            for k, (make, _) in zip(todo, runs, strict=True)
        ]
        errors = fit_together(trainers)
        for number, k in enumerate(todo):
            try:
                found[k] = errors.get(number) or evaluate_shifts(
                    experiments[k], paths[k], conclude(trainers[number], runs[number][1])
                )
            except NonFiniteLoss as error:
                found[k] = error
    return found


def groups_together(experiments: Sequence[Experiment]) -> list[list[int]]:
    """Positions of experiments that differ in seed and numbers alone, in groups of at most 32.

    >>> from tailormix.experiments import read
    >>> settings = ["method=mixup", "method=sk-mixup", "method.tau_std=0.5"]
    >>> groups_together([read("moons", [each]) for each in settings])
    [[0], [1, 2]]
    """
    groups: dict[str, list[int]] = {}
    for k, experiment in enumerate(experiments):
        values = {key: value for key, value in experiment.to_dict().items() if key not in FREE}
        method = {
            key: None if type(value) in (int, float) else value for key, value in values["method"].items()
        }
        groups.setdefault(json.dumps({**values, "method": method}, sort_keys=True), []).append(k)
    return [
        found[first : first + MOST_TOGETHER]
        for found in groups.values()
        for first in range(0, len(found), MOST_TOGETHER)
    ]


def run_groups(
    experiments: Sequence[Experiment],
    paths: Sequence[Path],
    *,
    report: Reporter = silent,
    say: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any] | Exception | None]:
    """Train together what can be; results or errors, and None for a run that is to be trained by itself.

    ``say`` also hears why. A folder that cannot be used keeps its group apart, and no other.
    """
    found: list[Any] = [None] * len(experiments)
    for group in groups_together(experiments):
        if len(group) == 1:
            continue
        try:
            results = run_together(
                [experiments[k] for k in group], [paths[k] for k in group], report=report, say=say
            )
        except (ValueError, OSError, RuntimeError) as error:
            say(f"{len(group)} runs like {paths[group[0]]} are trained one by one: {error}")
            continue
        for k, result in zip(group, results, strict=True):
            found[k] = result
    return found


def train_experiment(
    experiment: Experiment, path: Path, report: Reporter, say: Callable[[str], None], allow_other_ranks: bool
) -> dict[str, Any]:
    """Train and evaluate on the experiment's own data."""
    fabric = make_fabric(experiment.training)
    make, facts = make_run(experiment, path, fabric, say, allow_other_ranks=allow_other_ranks)
    return run(fabric, make, experiment.training, path, report=report, facts=facts)


def make_run(
    experiment: Experiment,
    path: Path,
    fabric: Fabric,
    say: Callable[[str], None],
    *,
    allow_other_ranks: bool = False,
    together: int = 1,
    loaded: dict[str, DataSplits] | None = None,
) -> tuple[Callable[[], Setup], dict[str, Any]]:
    """What builds the run, and facts for its result. The folder is claimed when everything is built.

    ``loaded`` is data that runs share, as in :func:`tailormix.experiments.building.build`.
    """
    settings = experiment.training
    execution = check_execution(path, fabric.world_size, settings.batch, allow_other_ranks)
    execution |= {"together": together} if together > 1 else {}
    method = experiment.method.name
    passes = METHODS[method].passes if method in METHODS else None  # nobody knows those of a plug-in
    facts = {
        "seed": settings.seed,
        "method": method,
        "batches_in_memory": None if passes is None else batches_in_memory(passes),
        "execution": execution,
    }

    def make() -> Setup:
        setup = building.build(experiment, fabric.device, loaded)
        if fabric.is_global_zero:
            write_record(experiment, path, execution)
            save_description(path, experiment, setup.data)
            for note in setup.data.notes:
                say(note)
        return setup

    return make, facts


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
