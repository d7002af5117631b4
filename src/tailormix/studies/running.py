"""Train what a study asks for: every cell, a row on a data set, with all its candidates and seeds at once."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Any

from tailormix.atomic import write_atomically
from tailormix.experiments.building import load_data
from tailormix.experiments.running import finished_result, run_experiment, run_together
from tailormix.studies import references
from tailormix.training.joint_step import NotStackable
from tailormix.training.trainer import NonFiniteLoss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tailormix.studies.study import Row, Run, Study

MOST_TOGETHER = 32  # models in one batch of models: more gain little and need memory
#: written into the folder of a run whose loss was not finite: it is not tried again, and never chosen
DIVERGED = "diverged.txt"
#: what keeps a cell from its end, and no other
EXPECTED = (ValueError, TypeError, ImportError, OSError, RuntimeError)


def check_cells(study: Study, cells: Sequence[tuple[str, Row]], out: Path, seeds: Sequence[int]) -> None:
    """Raise where data cannot be read or an option is wrong, before hours of other cells.

    What needs no training is not checked: the file of results may be all that there is of it.
    """
    tasks: dict[str, str] = {}
    for data, row in cells:
        base = row if row.ensemble is None else study.rows[row.ensemble]
        needed = [run for runs in needed_by_seed(study, data, base, out, seeds) for run in runs]
        todo = [run for run in needed if score(study, run, scaled=False) is None]
        if row.ensemble is not None:  # members answer for shifted rows again
            chosen = choose(study, data, base, out, seeds, scaled=True)
            todo += [run for run in chosen.values() if study.line(run, row) is None]
        for run in todo:
            options = repr(run.experiment.data)
            if options not in tasks:
                tasks[options] = load_data(run.experiment).task
            if base.reference is not None:
                references.classifier(run, tasks[options])


def run_cells(
    study: Study, cells: Sequence[tuple[str, Row]], out: Path, seeds: Sequence[int], jobs: int = 1
) -> Iterator[tuple[str, list[str]]]:
    """Run cells, ``jobs`` at a time; yields the name of each as it ends, and what failed in it.

    Finished runs are not repeated, nor are those that the CSV file of earlier calls has; stopped ones resume.
    Ensembles come last: their members are runs of the candidate that validation chose.
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
    """Run one cell; its name, and a sentence for all that failed, diverged or was trained by itself."""
    try:
        messages = _run(study, data, row, out, seeds)
    except EXPECTED as error:
        messages = [f"failed: {error}"]
    return f"{data}/{row.name}", messages


def _run(study: Study, data: str, row: Row, out: Path, seeds: Sequence[int]) -> list[str]:
    messages: list[str] = []
    if row.ensemble is not None:
        base = study.rows[row.ensemble]
        messages += _run(study, data, base, out, seeds)
        if len(choose(study, data, base, out, seeds, scaled=True)) < len(seeds):
            return [*messages, f"failed: row {base.name} is not finished"]
    for todo in _phases(study, data, row, out, seeds):
        if row.reference is not None:
            messages += [text for run in todo if (text := _attempt(references.fit, run))]
        else:
            for start in range(0, len(todo), MOST_TOGETHER):
                messages += _train(todo[start : start + MOST_TOGETHER], together=study.together)
    return messages


def _phases(study: Study, data: str, row: Row, out: Path, seeds: Sequence[int]) -> Iterator[list[Run]]:
    """The runs of a cell that are still to be trained, in the order in which they become known."""
    if row.ensemble is not None:
        chosen = choose(study, data, study.rows[row.ensemble], out, seeds, scaled=True)
        members = [study.members(row, run) for run in chosen.values() if study.line(run, row) is None]
        yield [run for runs in members for run in runs if result_of(run) is None]
        return
    searching = study.shared_search(row)
    for phase in (seeds,) if searching is None else (searching, seeds):
        needed = [run for seed in phase for run in needed_runs(study, data, row, out, seed)]
        yield [run for run in needed if score(study, run, scaled=False) is None]
    tried: dict[Path, Run] = {}
    while unmeasured := {
        run.path: run
        for scaled in (False, True)
        for run in choose(study, data, row, out, seeds, scaled=scaled).values()
        if run.path not in tried and not is_measured(study, run, scaled=scaled)
    }:
        tried |= unmeasured
        yield list(unmeasured.values())


def needed_runs(study: Study, data: str, row: Row, out: Path, seed: int) -> list[Run]:
    """What a row trains for one seed: all candidates, or what the searching seeds choose, once they have."""
    runs, searching = study.runs(data, row, out, [seed]), study.shared_search(row)
    if searching is None or seed in searching:
        return runs
    tried = study.runs(data, row, out, searching)
    best = [best_candidate(study, tried, scaled=scaled) for scaled in (False, True)]
    return [run for run in runs if run.candidate in best]


def needed_by_seed(study: Study, data: str, row: Row, out: Path, seeds: Sequence[int]) -> list[list[Run]]:
    """What a row trains for each of its seeds, those of a shared search first; empty where not known yet."""
    tried = dict.fromkeys((*(study.shared_search(row) or ()), *seeds))
    return [needed_runs(study, data, row, out, seed) for seed in tried]


def is_measured(study: Study, run: Run, *, scaled: bool) -> bool:
    """Whether a run has test metrics: in its folder, or in the CSV file, which holds those of chosen runs."""
    line = study.line(run)
    return result_of(run) is not None or (
        line is not None and line["ts_chosen" if scaled else "chosen"] == "1"
    )


def result_of(run: Run) -> dict[str, Any] | None:
    """The result of a finished run."""
    return finished_result(run.experiment, run.path)


def choose(
    study: Study, data: str, row: Row, out: Path, seeds: Sequence[int], *, scaled: bool
) -> dict[int, Run]:
    """The chosen run of every seed, where all that it is chosen from and itself are finished.

    ``scaled``: by the NLL after temperature, for whoever fits one; its best candidate often is another.
    """
    chosen = {}
    for seed in seeds:
        searching = study.shared_search(row) or [seed]
        best = best_candidate(study, study.runs(data, row, out, searching), scaled=scaled)
        for run in study.runs(data, row, out, [seed]):
            value = score(study, run, scaled=scaled)
            if run.candidate == best and value is not None and math.isfinite(value):
                chosen[seed] = run
    return chosen


def best_candidate(study: Study, runs: Sequence[Run], *, scaled: bool) -> Mapping[str, Any] | None:
    """The candidate with the lowest mean validation NLL over the seeds of the runs, if all are finished.

    One that diverged is not chosen.
    """
    nll = [(run, value) for run in runs if (value := score(study, run, scaled=scaled)) is not None]
    if len(nll) < len(runs):
        return None
    candidates = [run.candidate for run in runs if run.seed == runs[0].seed]
    means = [fmean(value for run, value in nll if run.candidate == candidate) for candidate in candidates]
    best = min(range(len(means)), key=means.__getitem__)
    return candidates[best] if math.isfinite(means[best]) else None


def score(study: Study, run: Run, *, scaled: bool) -> float | None:
    """The validation NLL of a run, from its folder or else from the CSV file; None where it is unfinished.

    Infinite where it diverged.
    """
    if (result := result_of(run)) is not None:
        return validation_nll(result, scaled=scaled)
    if (run.path / DIVERGED).is_file():
        return math.inf
    line = study.line(run)
    return None if line is None else float(line["validation_ts_nll" if scaled else "validation_nll"])


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
        _unfinished(run, result)
        for run, result in zip(runs, found, strict=True)
        if isinstance(result, Exception)
    ]


def _single(run: Run) -> None:
    run_experiment(run.experiment, run.path)


def _attempt(action: Callable[[Run], None], run: Run) -> str:
    """Carry out one run; one that diverges or fails keeps no other from its end."""
    try:
        action(run)
    except EXPECTED as error:
        return _unfinished(run, error)
    return ""


def _unfinished(run: Run, error: Exception) -> str:
    """What is said of a run that did not end; that it diverged is a result, and recorded."""
    if not isinstance(error, NonFiniteLoss):
        return f"failed: {run.path}: {error}"
    write_atomically(run.path / DIVERGED, f"{error}\n")
    return f"diverged, and is not chosen: {run.path}: {error}"
