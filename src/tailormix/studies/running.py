"""Train what a study asks for: every cell, a row on a data set, with all its candidates and seeds at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailormix.experiments.running import finished_result, run_experiment, run_together
from tailormix.studies import references
from tailormix.training.joint_step import NotStackable
from tailormix.training.trainer import NonFiniteLoss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tailormix.studies.study import Row, Run, Study

MOST_TOGETHER = 32  # models in one batch of models: more gain little and need memory


def run_cells(
    study: Study, cells: Sequence[tuple[str, Row]], out: Path, seeds: Sequence[int], jobs: int = 1
) -> Iterator[tuple[str, list[str]]]:
    """Run cells, ``jobs`` at a time; yields the name of each as it ends, and what failed in it.

    Finished runs are not repeated, and stopped ones resume. Ensembles come last: their members are runs of
    the candidate that validation chose.
    """
    import joblib

    for wave in (
        [cell for cell in cells if cell[1].ensemble is None],
        [cell for cell in cells if cell[1].ensemble is not None],
    ):
        if jobs == 1:
            yield from (run_cell(study, data, row, out, seeds) for data, row in wave)
        else:
            calls = (joblib.delayed(run_cell)(study, data, row, out, seeds) for data, row in wave)
            yield from joblib.Parallel(jobs, return_as="generator_unordered", pre_dispatch=jobs)(calls)


def run_cell(study: Study, data: str, row: Row, out: Path, seeds: Sequence[int]) -> tuple[str, list[str]]:
    """Run one cell; its name, and a sentence for every run that failed or that was trained by itself."""
    if row.ensemble is None:
        runs = study.runs(data, row, out, seeds)
    else:
        base = study.rows[row.ensemble]
        failed = run_cell(study, data, base, out, seeds)[1]
        chosen = choose(study.runs(data, base, out, seeds), scaled=True)
        if failed or len(chosen) < len(seeds):
            return f"{data}/{row.name}", [*failed, f"row {base.name} is not finished"]
        runs = [member for run in chosen.values() for member in study.members(row, run)]
    todo = [run for run in runs if result_of(run) is None]
    if row.reference is not None:
        return f"{data}/{row.name}", [text for run in todo if (text := _attempt(references.fit, run))]
    messages: list[str] = []
    for start in range(0, len(todo), MOST_TOGETHER):
        messages += _train(todo[start : start + MOST_TOGETHER], together=study.together)
    return f"{data}/{row.name}", messages


def result_of(run: Run) -> dict[str, Any] | None:
    """The result of a finished run."""
    return finished_result(run.experiment, run.path)


def choose(runs: Sequence[Run], *, scaled: bool) -> dict[int, Run]:
    """The candidate with the lowest validation NLL of every seed whose candidates are all finished.

    ``scaled``: the NLL after temperature, for whoever fits one; its best candidate often is another.
    """
    chosen: dict[int, tuple[float, Run]] = {}
    unfinished = set()
    for run in runs:
        result = result_of(run)
        if result is None:
            unfinished.add(run.seed)
        elif run.seed not in chosen or validation_nll(result, scaled=scaled) < chosen[run.seed][0]:
            chosen[run.seed] = validation_nll(result, scaled=scaled), run
    return {seed: run for seed, (_, run) in sorted(chosen.items()) if seed not in unfinished}


def validation_nll(result: Mapping[str, Any], *, scaled: bool) -> float:
    """What candidates are chosen by; of real targets always the NLL with variance scaling.

    >>> result = {"validation": {"before": {"nll": 0.5}, "after temperature": {"nll": 0.4}}}
    >>> validation_nll(result, scaled=False), validation_nll(result, scaled=True)
    (0.5, 0.4)
    """
    found = result["validation"]
    if "nll" in found["before"]:
        return float(found["after temperature" if scaled else "before"]["nll"])
    return float(found.get("after variance scaling", found["before"])["gaussian_nll"])


def _train(runs: Sequence[Run], *, together: bool) -> list[str]:
    """Train runs at once where they can be stacked: all, else those of a candidate, else those of a seed.

    What cannot be stacked at all is trained one by one. Returns what went wrong.
    """
    message = []
    if together:
        for key in (lambda _: "", lambda run: repr(run.candidate), lambda run: str(run.seed)):
            try:
                return [text for group in _grouped(runs, key) for text in _at_once(group)]
            except NotStackable as error:
                message = [f"trained one by one: {error}"]
    return [*message, *(text for run in runs if (text := _attempt(_single, run)))]


def _grouped(runs: Iterable[Run], key: Callable[[Run], str]) -> list[list[Run]]:
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return list(groups.values())


def _at_once(runs: Sequence[Run]) -> list[str]:
    found = run_together([run.experiment for run in runs], [run.path for run in runs])
    return [
        f"{run.path}: {result}"
        for run, result in zip(runs, found, strict=True)
        if isinstance(result, Exception)
    ]


def _single(run: Run) -> None:
    run_experiment(run.experiment, run.path)


def _attempt(action: Callable[[Run], None], run: Run) -> str:
    """Carry out one run; a run that diverges keeps no other from its end."""
    try:
        action(run)
    except NonFiniteLoss as error:
        return f"{run.path}: {error}"
    return ""
