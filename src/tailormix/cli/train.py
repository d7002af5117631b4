"""``tailormix train``: one run with a bar, or several, each in a process of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tailormix.cli.progress import list_failures, show_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailormix.experiments.experiment import Experiment


Name = Annotated[
    str, typer.Argument(help="A shipped experiment (tailormix list experiments) or a .toml file.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="key=value, over the file; sections with a dot: method.tau_std=0.5."),
]
Seeds = Annotated[str | None, typer.Option(help="Seeds, like 0-9 or 1,3,5. Default: the experiment's seed.")]
Jobs = Annotated[int, typer.Option(min=1, help="Runs at a time.")]
Out = Annotated[Path, typer.Option(file_okay=False, help="Folder of all runs.")]
Compile = Annotated[bool, typer.Option("--compile", help="Compile the model.")]
TensorBoard = Annotated[bool, typer.Option("--tensorboard", help="Also write scalars for TensorBoard.")]
Engine = Annotated[
    str,
    typer.Option(help="Where runs go: local, ray (RAY_ADDRESS) or dask (DASK_SCHEDULER_ADDRESS)."),
]
Force = Annotated[bool, typer.Option("--force", help="Start anew; an old run is moved aside, not deleted.")]
OtherRanks = Annotated[
    bool,
    typer.Option(
        "--allow-other-ranks", help="Resume on another number of ranks than the run began on. Recorded."
    ),
]
Together = Annotated[
    bool,
    typer.Option("--together", help="Train all seeds at once, as one batch of models: fast for small ones."),
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
    together: Together = False,
    force: Force = False,
    allow_other_ranks: OtherRanks = False,
    as_json: Json = False,
) -> None:
    """Train and evaluate an experiment. A run that was stopped resumes; a finished one is not repeated.

    Example: tailormix train digits-mlp --set method=mixup --seeds 0-9 --jobs 2
    """
    from tailormix import checks
    from tailormix.experiments.parallel import ENGINES, Job, run_jobs
    from tailormix.experiments.running import finished_result
    from tailormix.training.loop import make_fabric

    chosen = [*(settings or []), *(["compile=true"] if compiled else [])]
    experiments = _experiments(experiment, chosen, seeds)
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if len(experiments) > 1 and ranks > 1:
        raise ValueError(
            f"torchrun trains one run on its {ranks} ranks: expected one seed, got {len(experiments)}"
        )
    checks.known("--engine", engine, ENGINES)
    paths = [_folder(out, experiment, each) for each in experiments]
    if force:
        _set_aside(paths)
        if ranks > 1:  # the others must not look into a folder before it is empty
            make_fabric(experiments[0].training).barrier()
    flags = [
        *(["--tensorboard"] if tensorboard else []),
        *(["--allow-other-ranks"] if allow_other_ranks else []),
    ]
    if len(experiments) == 1:
        _print([(paths[0], _run(experiments[0], paths[0], tensorboard, allow_other_ranks))], as_json)
        return
    if together and _run_together(experiments, paths, as_json):
        return
    options = [text for setting in chosen for text in ("--set", setting)]
    found, todo = [], []
    for each, path in zip(experiments, paths, strict=True):
        if (result := finished_result(each, path)) is not None:
            found.append((path, result))
            continue
        seed = str(each.training.seed)
        todo.append(Job((experiment, *options, "--seeds", seed, "--out", str(out), *flags), path))
    ended = [(each, each.result) for each in show_progress(run_jobs(todo, jobs, engine), len(todo))]
    found += [(each.job.path, result) for each, result in ended if result is not None]
    for note in dict.fromkeys(note for _, result in found for note in result["data"].get("notes", [])):
        _note(note)
    _print(found, as_json)
    list_failures([each for each, result in ended if result is None])


def _run_together(experiments: Sequence[Experiment], paths: Sequence[Path], as_json: bool) -> bool:
    """Train all in this process, as one batch of models; False, with a sentence, if they cannot be."""
    from tailormix.experiments.running import run_together
    from tailormix.training.joint_step import NotStackable
    from tailormix.training.progress import console

    try:
        with console(f"{len(paths)} runs, {paths[0]} shown") as report:
            found = run_together(experiments, paths, report=report, say=_note)
    except NotStackable as error:
        _note(f"trained one by one: {error}")
        return False
    ended = list(zip(paths, found, strict=True))
    _print([(path, result) for path, result in ended if isinstance(result, dict)], as_json)
    failures = [f"error: {path}: {result}" for path, result in ended if isinstance(result, Exception)]
    for failure in failures:
        typer.echo(failure, err=True)
    if failures:
        raise typer.Exit(1)
    return True


def _note(text: str) -> None:
    typer.echo(f"note: {text}", err=True)


def _set_aside(paths: Sequence[Path]) -> None:
    """Move what is in the folders out of the way, once for all ranks."""
    from tailormix.experiments.running import is_first_rank
    from tailormix.training.run_folder import set_aside

    for path in paths if is_first_rank() else ():
        if (old := set_aside(path)) is not None:
            typer.echo(f"the old run is now {old}", err=True)


def _experiments(experiment: str, settings: Sequence[str], seeds: str | None) -> list[Experiment]:
    """The experiment for every seed."""
    from tailormix.experiments.experiment import read
    from tailormix.experiments.parallel import parse_seeds

    wanted = [None] if seeds is None else parse_seeds(seeds)
    return [read(experiment, settings, seed=seed) for seed in wanted]


def _folder(out: Path, name: str, experiment: Experiment) -> Path:
    """``OUT/EXPERIMENT/seed-N``; changed settings get a folder beside it."""
    from tailormix.experiments.experiment import experiment_name, fingerprint, read

    found = fingerprint(experiment)
    suffix = "" if found == fingerprint(read(name)) else f"-{found}"
    return out / f"{experiment_name(name)}{suffix}" / f"seed-{experiment.training.seed}"


def _run(experiment: Experiment, path: Path, tensorboard: bool, allow_other_ranks: bool) -> dict[str, Any]:
    """Run in this process, with a bar."""
    from tailormix.experiments.running import run_experiment
    from tailormix.training.progress import console

    with console(str(path)) as report:
        return run_experiment(
            experiment,
            path,
            report=report,
            say=_note,
            with_tensorboard=tensorboard,
            allow_other_ranks=allow_other_ranks,
        )


def _print(found: Sequence[tuple[Path, dict[str, Any]]], as_json: bool) -> None:
    """Print results, in the order of their folders, once for all ranks."""
    from tailormix.experiments.running import is_first_rank
    from tailormix.training.evaluating import STAGES

    if not is_first_rank():
        return
    rows = [{"run": str(path), **result} for path, result in sorted(found, key=lambda pair: str(pair[0]))]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        for part, stages in {"test": row.get("test", {}), **row.get("shifts", {})}.items():
            for stage, metrics in stages.items():
                if stage in STAGES:
                    values = " · ".join(f"{name} {value:.4g}" for name, value in metrics.items())
                    typer.echo(f"{row['run']}: {part} {stage}: {values}")
        for calibrator in ("temperature", "variance"):
            if note := row.get(calibrator, {}).get("note"):
                typer.echo(f"{row['run']}: {note}")
