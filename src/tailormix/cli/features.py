"""``tailormix features``: what a pretrained backbone makes of texts or images, as a file to train on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailormix.cli.predict import Force, check_out

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A data set, a table of texts (.csv, .tsv, .parquet), a .txt file with one text per line, or a "
        "folder of images.",
    ),
]
Model = Annotated[
    str,
    typer.Option(
        help="mobilenetv2, timm:NAME, model.pt2, file.py:name, or a folder or name that transformers loads."
    ),
]
Out = Annotated[Path, typer.Option("--out", "-o", dir_okay=False, help="File to write, .npz.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="An option of the data set: data.limit=12000.")]
Weights = Annotated[
    Path | None, typer.Option(dir_okay=False, help="Weights of mobilenetv2 (.pt or .safetensors).")
]
Corrupt = Annotated[
    str | None, typer.Option(help="Corrupted test images besides: all, or kinds like fog,jpeg.")
]
Severities = Annotated[str, typer.Option(help="Of the corruptions, from 1 to 5.")]
CorruptLimit = Annotated[int, typer.Option(min=1, help="Test images that are corrupted.")]
TestLimit = Annotated[int | None, typer.Option(min=1, help="Test rows; default all.")]
Size = Annotated[
    int | None, typer.Option(min=1, help="Pixels of a side that images are resized to; default the model's.")
]
Batch = Annotated[int, typer.Option(min=1, help="Texts or images at a time.")]
Half = Annotated[bool, typer.Option("--half", help="Store half precision: files of half the size.")]
Text = Annotated[str, typer.Option(help="The column of a table that holds the texts.")]
Label = Annotated[
    str | None,
    typer.Option(
        help="The column that holds the classes; default label. Rows may have none.", show_default=False
    ),
]


def features(
    data: Data,
    model: Model,
    out: Out,
    settings: Set = None,
    weights: Weights = None,
    size: Size = None,
    batch: Batch = 64,
    test_limit: TestLimit = None,
    corrupt: Corrupt = None,
    severities: Severities = "1,3,5",
    corrupt_limit: CorruptLimit = 2000,
    text: Text = "text",
    label: Label = None,
    half: Half = False,
    force: Force = False,
) -> None:
    """Make features of texts or images by a pretrained model. A command that was stopped resumes.

    Example: tailormix features my.csv --model sentence-transformers/all-MiniLM-L6-v2 -o my.npz
    """
    from tailormix.cli.progress import bars
    from tailormix.data.corrupt import chosen_kinds, chosen_severities
    from tailormix.data.files.columns import MISSING
    from tailormix.experiments.experiment import parse_settings
    from tailormix.experiments.features.backbones import load_backbone
    from tailormix.experiments.features.extraction import extract
    from tailormix.experiments.features.sources import kind_of, read_source, with_corruptions

    check_out(out, (".npz",), force=force)
    given = parse_settings(settings or [])
    if set(given) - {"data"}:
        raise ValueError(f"--set takes options of the data, like data.limit=100, got {', '.join(given)}")
    kinds = () if corrupt is None else chosen_kinds(corrupt)
    levels = chosen_severities(severities)
    backbone = load_backbone(model, kind_of(data), weights=weights, size=size)
    options = given.get("data", {})
    columns = {"text": text, "label": label}
    source = read_source(data, options=options, columns=columns, size=backbone.size, test_limit=test_limit)
    if kinds:
        source = with_corruptions(source, kinds, levels, corrupt_limit)
    with bars() as progress:
        parts = extract(
            source,
            backbone,
            out,
            batch=batch,
            precision="float16" if half else "float32",
            settings={"options": options, "columns": columns, "half": half},
            progress=progress,
        )
    told = ", ".join(f"{name} {rows}" for name, rows in parts.items())
    typer.echo(f"{out}: {sum(parts.values())} rows ({told})")
    words = [name for name in source.class_names if name.lower() in MISSING]
    if words and source.kind == "texts":
        typer.echo(f"note: taken as a class: {', '.join(words)}; only an empty cell is none", err=True)
    if "train" in parts:
        typer.echo(f"to train on them: tailormix train features --set data.path={out}")
    elif source.kind == "texts" and not source.class_names and Path(data).suffix.lower() != ".txt":
        typer.echo("no row has a class: to train on them, name the column of the classes, --label COLUMN")
