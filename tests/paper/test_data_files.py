"""The data files by themselves: what they name exists, what they repeat agrees. Needs no paper."""

import importlib
import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paper.data_files import FILES, TABLES, cells_of
from tailormix.data.registry import DATASETS
from tailormix.experiments import EXPERIMENTS, read
from tailormix.experiments.experiment import merge
from tailormix.experiments.running import run_experiment
from tailormix.methods import build_method
from tailormix.metrics.registry import names_of
from tailormix.models.registry import MODELS
from tailormix.paper.tables import DATA, NAMES, read_table

COLUMN = {"title", "path", "scale", "better", "digits"}
PLAIN_PATHS = {
    *("batches_in_memory", "best_epoch", "seconds_per_epoch", "seconds_to_best_epoch", "seconds_total"),
}
SETTINGS = [(name, setting) for name, file in FILES.items() for setting in file.get("settings", {})]


def test_every_data_file_is_named() -> None:
    files = {file.name for file in DATA.iterdir() if file.name.endswith(".toml")} - {"claims.toml"}
    assert files == {f"{name}.toml" for name in NAMES}


@pytest.mark.parametrize("name", FILES)
def test_files_are_complete(name: str) -> None:
    """Unknown keys, settings and columns are refused where a file is read; here is what it must have."""
    file = FILES[name]
    assert file["title"]
    assert file["note"]
    assert file["label"]
    for column in file.get("columns", {}).values():
        assert set(column) == COLUMN
        assert column["scale"] > 0
        assert column["digits"] >= 0
    for row in file.get("rows", []):
        assert "method" in row or row["reported"]


@pytest.mark.parametrize("name", FILES)
def test_rows_are_experiments_under_both_protocols(name: str) -> None:
    table = read_table(name)
    for setting, row in table.cells():
        ours, released = (table.experiment(setting, row, protocol=one) for one in ("paper", "released"))
        assert ours.training.imitate == ""
        assert released.training.imitate in ("", "released-protocol")
        assert released.data.name == ours.data.name
        assert set(ours.training.also) == set(table.setting(setting).needs)
        for experiment in (ours, released):
            assert experiment.method.name == table.row(row).method["name"]
            build_method(experiment.method.name, **experiment.method.options)
    assert table.cells() or table.figure


@pytest.mark.parametrize("name", FILES)
def test_released_passes_for_embeddings_update_statistics(name: str) -> None:
    """In the methods that the released code has, where it measures embeddings: never under our protocol."""
    table = read_table(name)
    for setting, row in table.cells():
        ours, released = (table.experiment(setting, row, protocol=one) for one in ("paper", "released"))
        images = DATASETS[ours.data.name].task == "classification"
        measured = ours.method.name in ("sk-mixup", "quantile-mixup") and "space" not in ours.method.options
        assert "update_statistics" not in ours.method.options
        assert released.method.options.get("update_statistics", False) == (images and measured)


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_settings_name_what_exists(name: str, setting: str) -> None:
    block = FILES[name]["settings"][setting]
    assert block["hours"] > 0
    assert set(block["needs"]) <= set(DATASETS)
    assert block.get("small", "digits-mlp") in EXPERIMENTS
    for layer in (block["experiment"], merge(block["experiment"], block.get("released", {}))):
        assert_takes(DATASETS[layer["data"]["name"]].loader, layer["data"])
        assert_takes(MODELS[layer["model"]["name"]].builder, layer["model"])
    for change in block.get("columns", {}).values():
        assert set(change) <= COLUMN


def assert_takes(function: Callable[..., Any], section: dict[str, Any]) -> None:
    takes = inspect.signature(function).parameters
    assert set(section) - {"name"} <= set(takes)


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_paths_lead_to_metrics(name: str, setting: str) -> None:
    block = FILES[name]["settings"][setting]
    metrics = names_of(DATASETS[block["experiment"]["data"]["name"]].task)
    for key, column in FILES[name].get("columns", {}).items():
        first, *rest = {**column, **block.get("columns", {}).get(key, {})}["path"].split(".")
        if first in PLAIN_PATHS:
            assert rest == []
            continue
        if first == "shifts":
            assert rest.pop(0) in block["needs"]
        else:
            assert first in ("test", "validation")
        stage, metric = rest
        assert stage in ("before", "after temperature")
        assert metric in metrics


def test_paths_are_those_of_a_result(tmp_path: Path) -> None:
    result = run_experiment(read("moons", ["epochs=1", "accelerator=cpu"]), tmp_path)
    assert set(result) >= PLAIN_PATHS
    for stage in ("before", "after temperature"):
        assert set(result["test"][stage]) == set(names_of("classification"))


@pytest.mark.parametrize("name", TABLES)
def test_titles_say_what_the_method_does(name: str) -> None:
    """``SK Mixup, α = 1, τ_std = 0.2`` has τ_max 1 and τ_std 0.2; ``Lower 0.1`` has q 0.1 and side lower."""
    meant = {
        "α": ("alpha", "tau_max"),
        "τ_std": ("tau_std",),
        "α_low": ("alpha_near",),
        "α_high": ("alpha_far",),
    }
    for row in TABLES[name]["rows"]:
        for sign, value in re.findall(r"(\S+) = ([\d.]+)", row["title"]):
            given = [row["method"][option] for option in meant[sign] if option in row["method"]]
            assert given == [float(value)]
        if found := re.fullmatch(r"(Lower|Higher) ([\d.]+)", row["title"]):
            assert (row["method"]["side"], row["method"]["q"]) == (found[1].lower(), float(found[2]))


def test_one_setting_is_the_same_in_every_table() -> None:
    seen: dict[tuple[str, str], Any] = {}
    for name, setting in SETTINGS:
        block = FILES[name]["settings"][setting]
        parts = {key: block[key] for key in ("experiment", "hours", "device")}
        parts["released"] = block.get("released", {})
        place = (block["experiment"]["data"]["name"], block["experiment"]["model"]["name"])
        assert seen.setdefault(place, parts) == parts, (name, setting)
    assert len(seen) > 10


#: losses of the rows whose numbers the paper reports from others, with the parameters of their public code
LOSS_ROWS: dict[str, dict[str, Any]] = {
    "mmce": {"name": "mmce", "weight": 1.0, "width": 0.4},
    "ecp": {"name": "ecp", "alpha": 0.1, "class_mean": True},
    "ls": {"name": "ls", "alpha": 0.05},
    "fl": {"name": "focal", "gamma": 3.0},
    "flsd": {"name": "flsd", "gamma": 3.0, "gamma_unsure": 5.0, "threshold": 0.2},
    "crl": {"name": "crl", "weight": 1.0},
    "cpc": {"name": "cpc", "discrimination": 0.1, "exclusion": 1.0},
    "mbls": {"name": "mbls", "alpha": 0.1, "margin": 10.0},
}


@pytest.mark.parametrize(("row", "loss"), LOSS_ROWS.items(), ids=list(LOSS_ROWS))
def test_a_loss_reported_from_others_can_be_trained(row: str, loss: dict[str, Any], tmp_path: Path) -> None:
    for name in ("resnet101-ece", "resnet101-aece"):
        experiment = read_table(name).experiment("tiny-imagenet", row)
        assert (experiment.method.flat(), experiment.loss.flat()) == ({"name": "erm"}, loss)
    settings = [f"loss.{option}={json.dumps(value)}" for option, value in loss.items()]
    tiny = read("digits-mlp", ["method=erm", "epochs=1", "accelerator=cpu", *settings])
    assert tiny.loss == experiment.loss
    assert run_experiment(tiny, tmp_path)["test"]["before"]["accuracy"] > 0.15  # chance is 0.1


def test_rows_reported_from_others_are_these_losses_with_a_smaller_margin_on_cifar10() -> None:
    table = read_table("resnet101-ece")
    assert [row.name for row in table.rows if row.reported] == list(LOSS_ROWS)
    assert table.experiment("cifar10", "mbls").loss.options == {"alpha": 0.1, "margin": 6.0}


def test_bars_are_rows_of_the_quantile_study() -> None:
    rows = {row["name"]: row for row in FILES["quantiles"]["rows"]}
    for bar in FILES["median-bars"]["rows"]:
        full = rows[bar["name"]]
        assert bar["method"] == full["method"]
        for setting, block in bar["values"].items():
            assert block == {column: full["values"][setting][column] for column in ("accuracy", "ece")}


def test_figures_name_their_code() -> None:
    for name, file in FILES.items():
        assert ("figure" in file) == (file["kind"] in ("figure", "illustration")), name
        if "figure" in file:
            module, function = file["figure"].split(":")
            assert callable(getattr(importlib.import_module(module), function))


def test_deviations_are_positive() -> None:
    cells = [value for file in TABLES.values() for value in cells_of(file).values()]
    assert len(cells) > 1000
    assert all(mean > 0 for mean, _ in cells)
    assert all(std > 0 for _, std in cells if std is not None)
