"""The data files by themselves: what they name exists, what they repeat agrees. Needs no paper."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paper.data_files import FILES, IMITATE, TABLES, cells_of, resolved, runs_of
from tailormix.data.registry import DATASETS
from tailormix.experiments import EXPERIMENTS, read
from tailormix.experiments.experiment import merge
from tailormix.experiments.running import run_experiment
from tailormix.methods import METHODS, build_method
from tailormix.metrics.registry import names_of
from tailormix.models.registry import MODELS

KEYS = {
    *("title", "kind", "label", "section", "repeats", "note", "figure", "options"),
    *("columns", "settings", "rows"),
}
COLUMN = {"title", "path", "scale", "better", "digits"}
SETTING = {"title", "hours", "device", "needs", "small", "columns", "experiment", "released"}
ROW = {
    *("name", "title", "group", "reported", "method", "methods", "experiment", "values"),
    *("released", "released_methods", "released_experiment"),
}
PLAIN_PATHS = {
    *("batches_in_memory", "best_epoch", "seconds_per_epoch", "seconds_to_best_epoch", "seconds_total"),
}
PROTOCOLS = ("paper", "released")
SETTINGS = [(name, setting) for name, file in FILES.items() for setting in file.get("settings", {})]


@pytest.mark.parametrize("name", FILES)
def test_keys_are_known(name: str) -> None:
    file = FILES[name]
    assert set(file) <= KEYS
    assert file["title"]
    assert file["note"]
    assert file["kind"] in ("table", "figure", "illustration", "study")
    assert ("label" in file) == (file["kind"] != "study")
    assert file["repeats"] >= 1
    for column in file.get("columns", {}).values():
        assert set(column) == COLUMN
        assert column["better"] in ("lower", "higher", "none")
        assert column["scale"] > 0
        assert column["digits"] >= 0
    for row in file.get("rows", []):
        assert set(row) <= ROW
        assert "method" in row or row["reported"]
    names = [row["name"] for row in file.get("rows", [])]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_settings_name_what_exists(name: str, setting: str) -> None:
    block = FILES[name]["settings"][setting]
    assert set(block) <= SETTING
    assert block["hours"] > 0
    assert block["device"] in ("cpu", "a100")
    assert set(block["needs"]) <= set(DATASETS)
    assert block.get("small", "digits-mlp") in EXPERIMENTS
    assert block.get("released", {}).get(IMITATE[0], IMITATE[1]) == IMITATE[1]
    for layer in (block["experiment"], merge(block["experiment"], block.get("released", {}))):
        assert_takes(DATASETS[layer["data"]["name"]].loader, layer["data"])
        assert_takes(MODELS[layer["model"]["name"]].builder, layer["model"])
    for column, change in block.get("columns", {}).items():
        assert column in FILES[name]["columns"]
        assert set(change) <= COLUMN


def assert_takes(function: Callable[..., Any], section: dict[str, Any]) -> None:
    takes = inspect.signature(function).parameters
    assert set(section) - {"name"} <= set(takes)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", FILES)
def test_rows_are_experiments(name: str, protocol: str) -> None:
    for setting, row in runs_of(FILES[name]):
        experiment = resolved(FILES[name], setting, row, protocol)
        assert experiment.method.name == row["method"]["name"]
        build_method(experiment.method.name, **experiment.method.options)


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


@pytest.mark.parametrize("name", FILES)
def test_values_name_settings_and_columns(name: str) -> None:
    file = FILES[name]
    columns, settings = set(file.get("columns", {})), set(file.get("settings", {}))
    for row in file.get("rows", []):
        for part in ("methods", "released_methods", "values"):
            assert set(row.get(part, {})) <= settings
        for block in row.get("values", {}).values():
            assert set(block) <= columns
    if file["kind"] == "study":
        assert not any("values" in row for row in file["rows"])


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
        if FILES[name]["kind"] != "study":
            place = (block["experiment"]["data"]["name"], block["experiment"]["model"]["name"])
            assert seen.setdefault(place, parts) == parts, (name, setting)
    assert len(seen) > 10


@pytest.mark.parametrize("name", ["digits", "cifar10"])
def test_studies_are_the_shipped_experiments(name: str) -> None:
    """Laid over each other they are one experiment, so that runs of either are runs of both."""
    for block in FILES[name]["settings"].values():
        shipped = EXPERIMENTS[block["small"]]
        assert block["experiment"] == {k: v for k, v in shipped.items() if k not in ("summary", "method")}


def test_digits_shows_every_method_for_classes() -> None:
    assert {row["method"]["name"] for row in FILES["digits"]["rows"]} == set(METHODS) - {"c-mixup"}


def test_bars_are_rows_of_the_quantile_study() -> None:
    rows = {row["name"]: row for row in FILES["quantiles"]["rows"]}
    for bar in FILES["median-bars"]["rows"]:
        full = rows[bar["name"]]
        assert bar["method"] == full["method"]
        for setting, block in bar["values"].items():
            assert block == {column: full["values"][setting][column] for column in ("accuracy", "ece")}


CODE = {
    "mismatch": "mismatch:make",
    "mismatch-sk": "mismatch:make",
    "median-bars": "median_bars:make",
    "density": "mixing_law:make",
    "moons": "toys:make_moons",
    "circles": "toys:make_circles",
    "theorems": "theorems:make",
}


def test_figures_name_their_code() -> None:
    for name, file in FILES.items():
        assert ("figure" in file) == (file["kind"] in ("figure", "illustration"))
        assert file.get("figure") in (None, f"tailormix.paper.figures.{CODE.get(name)}")


def test_deviations_are_positive() -> None:
    cells = [value for file in TABLES.values() for value in cells_of(file).values()]
    assert len(cells) > 1000
    assert all(mean > 0 for mean, _ in cells)
    assert all(std > 0 for _, std in cells if std is not None)
