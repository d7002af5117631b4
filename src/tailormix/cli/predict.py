"""``tailormix predict``: what a finished run says about new data, as a table."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from tailormix.experiments.trained import TrainedRun

    Array = np.ndarray[tuple[int, ...], np.dtype[Any]]

FORMATS = (".csv", ".tsv", ".npz", ".parquet")
Folder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")]
Source = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="New rows: a table (.csv, .tsv, .parquet), arrays (.npz with x, .npy), an image, or a folder of "
        "images.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", dir_okay=False, help=f"File to write: {', '.join(FORMATS)}. Default: print."),
]
Keep = Annotated[list[str] | None, typer.Option(help="A column of the table to copy, such as id.")]
Coverage = Annotated[float, typer.Option(help="Probability that an interval shall hold (regression).")]
Raw = Annotated[bool, typer.Option("--raw", help="Leave out the calibration.")]
Model = Annotated[
    str | None, typer.Option(help="The run's model, file.py:name or module:name, if it was code of yours.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]


def predict(
    run: Folder,
    data: Source,
    out: Out = None,
    keep: Keep = None,
    coverage: Coverage = 0.9,
    raw: Raw = False,
    model: Model = None,
    force: Force = False,
) -> None:
    """Predict new data by a finished run: calibrated probabilities of the classes, or values with intervals.

    Example: tailormix predict runs/moons/seed-0 new.csv -o predictions.csv
    """
    from tailormix.atomic import write_atomically
    from tailormix.experiments.trained import load_run

    if out is not None:
        check_out(out, FORMATS, force=force)
    trained = load_run(run, model=model)
    found = answers(trained, data, coverage=coverage, calibrated=not raw)
    for note in unknown_words(trained, data):
        typer.echo(f"note: {note}", err=True)
    rows = row_names(trained, data, keep or (), len(next(iter(found.values()))))
    if out is None:
        typer.echo(_text(_columns(trained, rows, found), ","), nl=False)
        return
    write_atomically(out, _file(out, trained, rows, found))
    typer.echo(f"{len(next(iter(rows.values())))} rows: {out}")


def answers(run: TrainedRun, source: Path, *, coverage: float, calibrated: bool) -> dict[str, Array]:
    """Class, confidence and probabilities (n, classes); or values, with standard deviation and interval."""
    from tailormix.training.evaluating import has_dropout

    if run.task == "classification":
        probabilities = run.predict_proba(source, calibrated=calibrated)
        prediction = run.classes[probabilities.argmax(1)]
        return {"prediction": prediction, "confidence": probabilities.max(1), "probabilities": probabilities}
    if run.calibrator is None and not has_dropout(run.model):
        return {"mean": run.predict(source)}
    return run.predict_interval(source, coverage, calibrated=calibrated)._asdict()


def unknown_words(run: TrainedRun, source: Path) -> list[str]:
    """A sentence for each column of a table with words that no training row had."""
    from tailormix.data.preprocessing import TablePreprocessing
    from tailormix.data.preprocessing.tables import OTHER

    if not isinstance(run.preprocessing, TablePreprocessing):
        return []
    raw = run.preprocessing.read(source)
    return [
        f"column {column.name!r}: {count} of {len(raw)} rows have a word that no training row had"
        for column, cells in zip(run.preprocessing.columns, raw.unbind(1), strict=True)
        if column.kind == "category" and not column.other and (count := int((cells == OTHER).sum()))
    ]


def check_out(out: Path, formats: Sequence[str], *, force: bool) -> None:
    """Raise, before any work starts, where a file cannot be written."""
    if out.suffix not in formats:
        raise ValueError(f"the file must end in {', '.join(formats)}, got {out.name!r}")
    if not out.parent.is_dir():
        raise ValueError(f"the file must be in a folder that exists, got {out.parent}")
    if out.exists() and not force:
        raise ValueError(f"{out} exists: choose another name, or --force to overwrite it")


def row_names(run: TrainedRun, source: Path, keep: Sequence[str], rows: int) -> dict[str, Array]:
    """What the rows are called: columns to keep of a table, the files of images, else numbers from 0."""
    import numpy as np

    from tailormix import checks
    from tailormix.data.files.tables import read_table
    from tailormix.data.pixels import image_paths
    from tailormix.data.preprocessing import ImagePreprocessing, TablePreprocessing

    if keep:
        if not isinstance(run.preprocessing, TablePreprocessing):
            raise ValueError("--keep copies columns of a table, and this run does not read tables")
        columns = read_table(source, **run.preprocessing.reading).columns
        return {name: columns[checks.known("column of --keep", name, columns)].cells for name in keep}
    paths = image_paths(source) if isinstance(run.preprocessing, ImagePreprocessing) else None
    if paths is None:
        return {"row": np.arange(rows)}
    root = source if source.is_dir() else source.parent
    return {"file": np.array([Path(path).relative_to(root).as_posix() for path in paths])}


def _columns(run: TrainedRun, rows: Mapping[str, Array], found: Mapping[str, Array]) -> dict[str, Array]:
    """One array (n,) per column of a table; the columns of probabilities have the names of the classes."""
    columns = dict(rows)
    for name, values in found.items():
        if values.ndim == 1:
            columns[name] = values
            continue
        inner = run.class_names or [f"{name} {number}" for number in range(values.shape[1])]
        for title, column in zip(inner, values.T, strict=True):
            columns[title if title not in columns else f"class {title}"] = column
    return columns


def _text(columns: Mapping[str, Array], delimiter: str) -> str:
    """A table as text, numbers with six digits."""
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    for cells in zip(*columns.values(), strict=True):
        writer.writerow([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in cells])
    return file.getvalue()


def _file(path: Path, run: TrainedRun, rows: Mapping[str, Array], found: Mapping[str, Array]) -> bytes:
    """The contents of the file, by its ending."""
    if path.suffix == ".npz":
        import numpy as np

        classes = {"classes": run.classes} if run.class_names else {}
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **_plain(rows), **found, **classes)
        return file.getvalue()
    columns = _columns(run, rows, found)
    if path.suffix == ".parquet":
        return _parquet(columns)
    return _text(columns, "\t" if path.suffix == ".tsv" else ",").encode()


def _plain(rows: Mapping[str, Array]) -> dict[str, Array]:
    """Columns of a table as arrays without objects: a missing word is empty."""
    import numpy as np

    objects = {name: values.dtype == object for name, values in rows.items()}
    return {
        name: np.array(["" if cell is None else str(cell) for cell in values]) if objects[name] else values
        for name, values in rows.items()
    }


def _parquet(columns: Mapping[str, Array]) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("writing .parquet needs a package more: pip install pyarrow") from error
    file = io.BytesIO()
    parquet.write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), file)
    return file.getvalue()
