"""``tailormix export``: a finished run as one program that needs no tailormix."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailormix.cli.predict import Folder, Force, Model, check_out

FORMATS = (".pt2", ".onnx")
Out = Annotated[
    Path, typer.Argument(metavar="FILE", dir_okay=False, help="model.pt2 (torch.export) or model.onnx.")
]


def export(run: Folder, out: Out, model: Model = None, force: Force = False) -> None:
    """Write a finished run as one program, from raw inputs to calibrated probabilities (or mean and std).

    The program is loaded again and must answer as the run does, to 1e-5.

    Example: tailormix export runs/moons/seed-0 model.pt2
    """
    from tailormix.atomic import write_atomically
    from tailormix.experiments.exporting import export_onnx, export_program, facts
    from tailormix.experiments.trained import load_run

    check_out(out, FORMATS, force=force)
    trained = load_run(run, model=model)
    contents, difference = export_onnx(trained) if out.suffix == ".onnx" else export_program(trained)
    write_atomically(out, contents)
    told = facts(trained)
    shape = ", ".join(map(str, told["inputs"]["shape"]))
    typer.echo(f"{out}: {told['inputs']['dtype']} ({shape}) to {' and '.join(told['outputs'])}")
    if difference is None:
        typer.echo("not compared with the run: pip install onnxruntime", err=True)
    else:
        typer.echo(f"differs from the run by {difference:.1g} at most")
