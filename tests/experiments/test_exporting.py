"""Exported programs answer as their run does, for any number of rows, and without tailormix."""

import json
import shutil
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import tailormix
from cli.calling import call, told
from helpers import run_python
from support_trained import X, train, train_arrays, train_images, train_table
from tailormix.experiments import TrainedRun
from tailormix.experiments.exporting import ExportError, example_rows, export_onnx, export_program, facts

SERIES = """
import torch
from tailormix.data.series import series_splits

def windows():
    values = 5 * torch.rand(60, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return series_splits("windows", values, 12, 2, "clean")
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TrainedRun]:
    """Numbers with and without dropout, a table, images by two kinds of models, and windows of a series."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("classes", "values", "pairs", "table", "images", "series"):
        (folder / name).mkdir()
    (folder / "series.py").write_text(SERIES)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        lstnet = {"hidden": 3, "skip_hidden": 2, "kernel": 3, "period": 4, "highway": 3}
        paths = {
            "classes": train_arrays(folder / "classes", "classes", "mlp"),
            "values": train_arrays(folder / "values", "values", "mlp"),
            "pairs": train_arrays(folder / "pairs", "pairs", "fcn3"),
            "table": train_table(folder / "table"),
            "images": train_images(folder / "images"),
            "series": train(folder / "series", {"name": "lstnet-skip", **lstnet}, name="series.py:windows"),
        }
    paths["vit"] = train(
        folder / "vit", "vit-tiny", name="folder", path=str(folder / "images" / "images"), image_size=8
    )
    return {name: tailormix.load_run(path) for name, path in paths.items()}


def answers(run: TrainedRun, raw: torch.Tensor) -> list[np.ndarray]:
    """What the run says, as the program returns it."""
    if run.task == "classification":
        return [run.predict_proba(raw)]
    found = run.predict_interval(raw, dropout=False)
    return [each.reshape(len(raw), -1) for each in (found.mean, found.std)]


@pytest.mark.parametrize("name", ["classes", "values", "pairs", "table", "images", "vit", "series"])
def test_a_program_answers_as_its_run(name: str, runs: dict[str, TrainedRun], tmp_path: Path) -> None:
    run = runs[name]
    contents, difference = export_program(run)
    assert difference <= 1e-5
    (tmp_path / "model.pt2").write_bytes(contents)
    extra = {"facts.json": ""}
    program = torch.export.load(tmp_path / "model.pt2", extra_files=extra).module()
    assert json.loads(extra["facts.json"]) == json.loads(json.dumps(facts(run)))
    for rows in (1, 2, 5):
        raw = example_rows(run.preprocessing, rows)
        found = program(raw)
        found = found if isinstance(found, (list, tuple)) else [found]
        for mine, theirs in zip(found, answers(run, raw), strict=True):
            np.testing.assert_allclose(mine.numpy(), theirs, rtol=1e-5, atol=1e-5)


def test_a_program_runs_where_there_is_only_torch(runs: dict[str, TrainedRun], tmp_path: Path) -> None:
    out = tmp_path / "model.pt2"
    done = call("export", runs["classes"].path, out)
    assert done.exit_code == 0, done.stderr
    assert f"{out}: float64 (rows, 3) to probabilities\ndiffers from the run by " in done.stdout
    code = (
        "import json, sys, torch; sys.modules['tailormix'] = None; "
        "rows = torch.tensor(json.loads(sys.argv[2]), dtype=torch.float64); "
        "print(json.dumps(torch.export.load(sys.argv[1]).module()(rows).tolist()))"
    )
    found = json.loads(run_python(code, [str(out), json.dumps(X[:4].tolist())]))
    np.testing.assert_allclose(found, runs["classes"].predict_proba(X[:4]), atol=1e-5)


def test_an_archive_holds_no_pickle(runs: dict[str, TrainedRun], tmp_path: Path) -> None:
    """A pickle of torch is an archive of its own, and any other starts with its protocol, 0x80."""
    (tmp_path / "model.pt2").write_bytes(export_program(runs["table"])[0])
    with zipfile.ZipFile(tmp_path / "model.pt2") as archive:
        inside = {name: archive.read(name) for name in archive.namelist()}
    assert any(name.endswith("model.json") for name in inside)
    weights = {name for name in inside if "/weights/weight_" in name or "/constants/tensor_" in name}
    for name, contents in inside.items():
        assert name in weights or not contents.startswith((b"PK", b"\x80")), name


@pytest.mark.parametrize("name", ["classes", "pairs", "table", "images"])
def test_an_onnx_model_answers_as_its_run(name: str, runs: dict[str, TrainedRun]) -> None:
    onnx, onnxruntime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    contents, difference = export_onnx(runs[name])
    assert difference is not None
    assert difference <= 1e-5
    (noted,) = onnx.load_from_string(contents).metadata_props
    assert json.loads(noted.value)["outputs"] == facts(runs[name])["outputs"]
    session = onnxruntime.InferenceSession(contents, providers=["CPUExecutionProvider"])
    raw = example_rows(runs[name].preprocessing, 3)
    found = session.run(None, {"raw": raw.numpy()})
    for mine, theirs in zip(found, answers(runs[name], raw), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)


def test_the_facts_say_what_goes_in_and_comes_out(runs: dict[str, TrainedRun]) -> None:
    told = facts(runs["table"])
    assert told["class_names"] == ["apple", "pear, ripe"]
    assert [(each["name"], each["kind"]) for each in told["inputs"]["columns"]] == [
        ("size", "number"),
        ("colour", "category"),
        ("ripe", "boolean"),
    ]
    assert facts(runs["images"])["inputs"]["shape"] == ["rows", 3, 8, 8]
    assert facts(runs["series"])["outputs"] == ["mean", "std"]


class Odd(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if float(x.sum()) > 0 else -x


def test_what_cannot_be_exported_says_so(
    runs: dict[str, TrainedRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runs["classes"].path
    monkeypatch.setitem(sys.modules, "onnx", None)
    done = call("export", run, tmp_path / "model.onnx")
    assert done.exit_code == 2
    assert 'the package onnx is missing: pip install "tailormix[export]"' in told(done)
    done = call("export", run, tmp_path / "model.pt")
    assert "the file must end in .pt2, .onnx, got 'model.pt'" in told(done)
    assert list(tmp_path.iterdir()) == []
    odd = TrainedRun(**{**vars(runs["classes"]), "model": Odd()})
    with pytest.raises(ExportError, match=r"torch\.export cannot follow this model"):
        export_program(odd)


def test_a_program_that_answers_otherwise_is_refused(
    runs: dict[str, TrainedRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shutil.copytree(runs["classes"].path, tmp_path / "run")
    monkeypatch.setattr(TrainedRun, "predict_proba", lambda _, raw: np.zeros((len(raw), 3)))
    done = call("export", path, tmp_path / "model.pt2")
    assert done.exit_code == 1
    assert "the program differs from the run by " in told(done)
    assert not (tmp_path / "model.pt2").exists()
