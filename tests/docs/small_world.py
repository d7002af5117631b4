"""The command line on little work: made data, one epoch a run, bare pictures, all in this process."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from typer.testing import CliRunner, Result

from helpers import ROOT
from tailormix.calibration.predictions import Predictions, save_predictions
from tailormix.cli.main import app
from tailormix.data import tables
from tailormix.data.files.download import ResumingDownloader, get
from tailormix.data.registry import DATASETS, published_files
from tailormix.experiments import parallel, running
from tailormix.experiments.parallel import Job, JobResult
from tailormix.experiments.tuning import study

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tailormix.experiments.experiment import Experiment

ROWS, HELD = 60, 20


def invoke(arguments: Sequence[str]) -> Result:
    """The command line in this process."""
    return CliRunner().invoke(app, list(arguments))


@contextlib.contextmanager
def small_world() -> Iterator[None]:
    """Inside, long commands take a second. What they need and a page does not make lies in this folder."""
    assert Path.cwd() != ROOT, "files would be made beside the sources: change to another folder first"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAILORMIX_DATA", str(Path("data").resolve()))
        _offer(patch)
        for name, value in {"ROWS": ROWS, "VALIDATION": HELD, "TEST": HELD}.items():
            patch.setattr(tables, f"AIRFOIL_{name}", value)
        patch.setattr(running, "train_experiment", _one_epoch(running.train_experiment))
        patch.setattr(parallel, "run_jobs", _one_by_one)
        patch.setattr(study, "work_together", _in_turn)
        patch.setattr(Figure, "savefig", _bare(Figure.savefig))
        get("airfoil", Path("data"))
        _furnish()
        yield


def _furnish() -> None:
    """Predictions and results that a page only names."""
    if not Path("results").exists():
        shutil.copytree(ROOT / "docs" / "results", "results")
    generator = torch.Generator().manual_seed(0)
    for number, split in enumerate(("val", "test")):
        if not Path(f"{split}.npz").exists():
            logits = 3 * torch.randn(40, 3, generator=generator)
            ids = torch.arange(40) + 40 * number
            saved = Predictions(logits=logits, targets=logits.argmax(1), ids=ids, split=split)
            save_predictions(f"{split}.npz", saved)


def _one_epoch(train: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    def trained(experiment: Experiment, path: Path, report: Any) -> dict[str, Any]:
        return train(replace(experiment, training=replace(experiment.training, epochs=1)), path, report)

    return trained


def _bare(save: Callable[..., None]) -> Callable[..., None]:
    """Files of pictures with nothing on them: laying out axes takes most of the time of a report."""

    def saved(figure: Figure, *arguments: Any, **options: Any) -> None:
        figure.clear()
        save(figure, *arguments, **options)

    return saved


def _one_by_one(jobs: Sequence[Job], n_jobs: int, engine: str = "local") -> Iterator[JobResult]:
    """What the processes of ``--jobs`` would do, one after another in this one."""
    assert (n_jobs >= 1, engine) == (True, "local")
    for job in jobs:
        done = invoke(["train", *job.arguments])
        yield JobResult(job, done.exit_code, done.output)


def _in_turn(
    arguments: Sequence[str], jobs: int, folder: Path, look: Callable[[], None]
) -> tuple[bool, list[Path]]:
    """The same for those of a search."""
    assert folder.is_dir()
    for number in range(1, jobs + 1):
        done = invoke(["tune", *arguments, "--worker", str(number)])
        assert done.exit_code == 0, done.output
        look()
    return False, []


def _offer(patch: pytest.MonkeyPatch) -> None:
    """Owners publish small files at their own addresses, which need no network here."""
    bodies: dict[str, bytes] = {}
    for name, (body, contents) in _made().items():
        known = published_files(name)
        offered = replace(known.downloads[0], bytes=len(body), checksum=_sum(body))
        files = tuple(replace(each, versions=((len(contents), _sum(contents)),)) for each in known.files)
        small = replace(known, downloads=(offered,), files=files)
        patch.setitem(DATASETS, name, replace(DATASETS[name], files=small))
        bodies[offered.url] = body

    def arrive(_: ResumingDownloader, url: str, output_file: str, __: object) -> None:
        Path(output_file).write_bytes(bodies[url])

    patch.setattr(ResumingDownloader, "__call__", arrive)


def _made() -> dict[str, tuple[bytes, bytes]]:
    """What is downloaded of each set, and what each of its files then holds."""
    table = io.StringIO()
    np.savetxt(table, np.random.default_rng(0).random((ROWS, 6)) + 1, "%.6g", "\t")
    text = table.getvalue().encode()
    image = bytes(3073)
    return {
        "airfoil": (text, text),
        "exchange-rate": (gzip.compress(text), text),
        "cifar10": (_packed(published_files("cifar10").files, image), image),
    }


def _packed(files: Sequence[Any], contents: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for stored in files:
            entry = tarfile.TarInfo(stored.path)
            entry.size = len(contents)
            archive.addfile(entry, io.BytesIO(contents))
    return packed.getvalue()


def _sum(contents: bytes) -> str:
    return f"sha256:{hashlib.sha256(contents).hexdigest()}"
