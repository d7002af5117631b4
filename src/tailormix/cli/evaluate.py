"""``tailormix evaluate``: all metrics of a file of predictions, before and after temperature."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailormix.cli.progress import bars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailormix.calibration.predictions import Predictions
    from tailormix.reports.evaluation import Evaluation


Sources = Annotated[
    list[Path],
    typer.Argument(
        exists=True,
        help="An .npz file (logits or probabilities, targets; or mean, std, targets; optional ids, split), "
        "a logits.npy with targets.npy beside it, or a folder that holds either. Several with --ensemble.",
    ),
]
Calibration = Annotated[
    Path | None,
    typer.Option(exists=True, help="Predictions of another split to fit temperature or variance on."),
]
Ensemble = Annotated[
    bool,
    typer.Option(
        "--ensemble",
        help="Average several predictions first. Folders of runs are calibrated on their validation rows.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
Html = Annotated[Path | None, typer.Option(dir_okay=False, help="Write one self-contained page here.")]
Pictures = Annotated[
    Path | None, typer.Option(file_okay=False, help="Write the diagrams as PNG and SVG here.")
]
Split = Annotated[str | None, typer.Option(help="Name of the split, where the file does not say it.")]
CalibrationSplit = Annotated[str | None, typer.Option(help="The same for --calibration.")]
Bins = Annotated[int, typer.Option(min=1, help="Number of bins.")]
Resamples = Annotated[int, typer.Option(min=0, help="Bootstrap resamples; 0 for no intervals.")]
Confidence = Annotated[float, typer.Option(min=0.01, max=0.999, help="Confidence of the intervals.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")]
Binary = Annotated[str | None, typer.Option(help="For two classes: positive or top-label.")]
Imitate = Annotated[
    str | None,
    typer.Option(help="released-protocol: allow calibration on the evaluated points. Marked in the result."),
]


def evaluate(
    predictions: Sources,
    calibration: Calibration = None,
    average: Ensemble = False,
    as_json: Json = False,
    html: Html = None,
    diagrams: Pictures = None,
    split: Split = None,
    calibration_split: CalibrationSplit = None,
    bins: Bins = 15,
    resamples: Resamples = 1000,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    binary: Binary = None,
    imitate: Imitate = None,
) -> None:
    """Evaluate predictions: every metric with its interval, also after calibration on another split.

    Example: tailormix evaluate test.npz --calibration val.npz --html report.html
    """
    from tailormix.reports import evaluation
    from tailormix.reports.runs.groups import run_description

    _check_options(predictions, average, html, diagrams, binary, imitate)
    settings = evaluation.Settings(bins, resamples, confidence, seed, binary)
    test, fitted, notes = _load(predictions, calibration, average, split, calibration_split)
    title, names = run_description(predictions[0])
    title = title or f"Evaluation of {predictions[0].name}"
    with bars() as progress:
        found = evaluation.evaluate(
            test, fitted, settings=settings, imitate=imitate, class_names=names, progress=progress
        )
    found = replace(found, notes=(*found.notes, *notes))
    _write(found, html, diagrams, title=f"{title}, ensemble of {len(predictions)}" if average else title)
    if as_json:
        typer.echo(json.dumps(found.as_dict(), indent=2, allow_nan=False))
    else:
        _show(found)
    for what, path in (("page", html), ("diagrams", diagrams)):
        if path is not None:
            typer.echo(f"{what} written: {path}", err=as_json)  # standard output is for JSON then


def _check_options(
    sources: Sequence[Path],
    average: bool,
    html: Path | None,
    diagrams: Path | None,
    binary: str | None,
    imitate: str | None,
) -> None:
    """Everything that can be wrong is found before the work."""
    from tailormix.calibration.predictions import IMITATED
    from tailormix.metrics.inputs import BINARY

    if len(sources) > 1 and not average:
        raise typer.BadParameter(f"expected one source, got {len(sources)}: add --ensemble to average them")
    for option, value, known in (("--binary", binary, BINARY), ("--imitate", imitate, IMITATED)):
        if value is not None and value not in known:
            raise typer.BadParameter(f"expected {' or '.join(known)}, got {value!r}", param_hint=option)
    for path in (html, diagrams):
        if path is not None and not path.parent.is_dir():
            raise typer.BadParameter(f"folder {path.parent} does not exist", param_hint=str(path))
    for package, wanted in (("matplotlib", html or diagrams), ("jinja2", html)):
        if wanted:
            import_module(package)


def _load(
    sources: Sequence[Path],
    calibration: Path | None,
    average: bool,
    split: str | None,
    calibration_split: str | None,
) -> tuple[Predictions, Predictions | None, list[str]]:
    """The predictions to evaluate, those to calibrate on, and what there is to say about an ensemble."""
    from tailormix.calibration.ensemble import disagreement, ensemble
    from tailormix.calibration.predictions import load_predictions

    members = [load_predictions(source, split=split) for source in sources]
    fitted = None if calibration is None else load_predictions(calibration, split=calibration_split)
    if not average:
        return members[0], fitted, []
    files = [source / "validation.npz" for source in sources]
    if fitted is None and all(file.is_file() for file in files):
        fitted = ensemble([load_predictions(file) for file in files])
    test, apart = ensemble(members), disagreement(members)
    classes = test.task == "classification"
    how = (
        f"two of them name different classes for {apart:.1%}"
        if classes
        else f"their means differ by {apart:.4g}"
    )
    return test, fitted, [f"ensemble of {len(members)}: {how}"]


def _write(found: Evaluation, html: Path | None, folder: Path | None, *, title: str) -> None:
    """Write the page and the diagrams that were asked for."""
    from tailormix.atomic import write_atomically

    if html is not None:
        from tailormix.reports.pages import evaluation_page

        write_atomically(html, evaluation_page(found, title=title))
    if folder is not None:
        from tailormix.reports.diagrams import evaluation_diagrams
        from tailormix.reports.style import image_bytes

        folder.mkdir(exist_ok=True)
        for name, figure in evaluation_diagrams(found).items():
            for kind in ("png", "svg"):
                write_atomically(folder / f"{name}.{kind}", image_bytes(figure, kind))


def _show(found: Evaluation) -> None:
    from rich.console import Console
    from rich.table import Table

    from tailormix.reports.evaluation import table_rows
    from tailormix.reports.verdict import verdict_sentences

    console = Console()
    for sentence in verdict_sentences(found):
        console.print(sentence, markup=False, highlight=False)
    split = f", split {found.split!r}" if found.split else ""
    table = Table(title=f"{found.samples} samples{split}", title_justify="left")
    kind = (found.calibration or {}).get("kind")
    for heading in ("metric", "value" if kind is None else "before", *([f"after {kind}"] if kind else [])):
        table.add_column(heading)
    for row in table_rows(found):
        table.add_row(row["title"], row["before"], *([row["after"]] if kind else []))
    console.print(table)
    for line in _remarks(found):
        console.print(line, markup=False, highlight=False)


def _remarks(found: Evaluation) -> list[str]:
    lines = list(found.notes)
    if found.calibration is not None:
        facts = found.calibration
        name = "temperature" if facts["kind"] == "temperature" else "scale"
        where = facts["fitted_on"]["split"] or "a split without a name"
        lines.append(
            f"{name} {facts[name]:.4f}, fitted on {facts['fitted_on']['samples']} samples of {where}"
        )
        lines += [facts["note"]] if facts.get("note") else []
    if found.imitates:
        lines.append(f"imitates {found.imitates}: calibrated on the evaluated points")
    return lines
