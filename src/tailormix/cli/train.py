"""``tailormix train``: one run with a bar, or many, each in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tailormix.cli.progress import list_failures, shown
from tailormix.ranks import first_rank, world_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailormix.experiments.experiment import Experiment
    from tailormix.experiments.parallel import Outcome, Task


Name = Annotated[
    str, typer.Argument(help="A shipped experiment (tailormix list experiments) or a .toml file.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="key=value, over the file; sections with a dot: method.tau_std=0.5."),
]
Seeds = Annotated[str | None, typer.Option(help="Seeds, like 0-9 or 1,3,5. Default: the experiment's own.")]
Jobs = Annotated[int, typer.Option(min=1, help="Runs at a time.")]
Out = Annotated[Path, typer.Option(file_okay=False, help="Folder of all runs.")]
Compile = Annotated[bool, typer.Option("--compile", help="Compile the model.")]
TensorBoard = Annotated[bool, typer.Option("--tensorboard", help="Also write scalars for TensorBoard.")]
Engine = Annotated[
    str,
    typer.Option(help="Where many runs go: local, loky, ray (RAY_ADDRESS) or dask (DASK_SCHEDULER_ADDRESS)."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def train(
    experiment: Name,
    settings: Set = None,
    seeds: Seeds = None,
    jobs: Jobs = 1,
    out: Out = Path("runs"),
    compiled: Compile = False,
    tensorboard: TensorBoard = False,
    engine: Engine = "local",
    as_json: Json = False,
) -> None:
    """Train an experiment and judge it; a run that was stopped goes on, a finished one is not repeated.

    Example: tailormix train digits-mlp --set method=mixup --seeds 0-9 --jobs 2
    """
    from tailormix.experiments.parallel import ENGINES

    chosen = [*(settings or []), *(["compile=true"] if compiled else [])]
    records = _records(experiment, chosen, seeds)
    if len(records) > 1 and world_size() > 1:
        raise typer.BadParameter(
            f"torchrun trains one run on its {world_size()} ranks: expected one seed, got {len(records)}",
            param_hint="--seeds",
        )
    if engine not in ENGINES:
        raise typer.BadParameter(f"expected {', '.join(ENGINES)}, got {engine!r}", param_hint="--engine")
    paths = [_folder(out, experiment, record) for record in records]
    if len(records) == 1:
        _finish([(paths[0], _one(records[0], paths[0], tensorboard))], as_json)
        return
    tasks = [
        _task(experiment, chosen, record, out, path, tensorboard)
        for record, path in zip(records, paths, strict=True)
    ]
    outcomes = _many(tasks, jobs, engine)
    _finish([(o.task.path, o.result) for o in outcomes if o.result is not None], as_json)
    list_failures([outcome for outcome in outcomes if outcome.result is None])


def _records(experiment: str, chosen: Sequence[str], seeds: str | None) -> list[Experiment]:
    """The resolved experiment for every seed; what is wrong with it is wrong use (exit code 2)."""
    from tailormix.experiments.experiment import read
    from tailormix.experiments.parallel import seeds_of

    try:
        wanted = [None] if seeds is None else seeds_of(seeds)
        return [read(experiment, chosen, seed=seed) for seed in wanted]
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(str(error)) from error


def _folder(out: Path, experiment: str, record: Experiment) -> Path:
    """``OUT/EXPERIMENT/seed-N``; settings of one's own get a folder beside it."""
    from tailormix.experiments.experiment import name_of, read
    from tailormix.experiments.running import fingerprint

    own = fingerprint(record)
    suffix = "" if own == fingerprint(read(experiment)) else f"-{own}"
    return out / f"{name_of(experiment)}{suffix}" / f"seed-{record.training.seed}"


def _one(record: Experiment, path: Path, tensorboard: bool) -> dict[str, Any]:
    """Run here, with a bar; every failure is one line and exit code 1."""
    from tailormix.experiments.running import run_experiment
    from tailormix.training.progress import console

    try:
        with console(str(path)) as report:
            return run_experiment(record, path, report=report, with_tensorboard=tensorboard)
    except (KeyboardInterrupt, ValueError, TypeError, OSError, RuntimeError, ImportError) as error:
        typer.echo(f"error: {str(error) or type(error).__name__}", err=True)
        raise typer.Exit(1) from error


def _task(
    experiment: str, chosen: Sequence[str], record: Experiment, out: Path, path: Path, tensorboard: bool
) -> Task:
    from tailormix.experiments.parallel import Task

    options = [word for setting in chosen for word in ("--set", setting)]
    options += ["--seeds", str(record.training.seed), "--out", str(out)]
    return Task((experiment, *options, *(["--tensorboard"] if tensorboard else [])), path)


def _many(tasks: Sequence[Task], jobs: int, engine: str) -> list[Outcome]:
    from tailormix.experiments.parallel import carry_out_all

    try:
        return list(shown(carry_out_all(tasks, jobs, engine), len(tasks)))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _finish(found: Sequence[tuple[Path, dict[str, Any]]], as_json: bool) -> None:
    """Print results, in the order of their folders, once for all ranks."""
    if not first_rank():
        return
    rows = [{"run": str(path), **result} for path, result in sorted(found, key=lambda pair: str(pair[0]))]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        for stage, metrics in row.get("test", {}).items():
            words = " · ".join(f"{name} {value:.4g}" for name, value in metrics.items())
            typer.echo(f"{row['run']}: test {stage}: {words}")
