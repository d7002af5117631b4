"""What the page on tau says of the defaults is what validation rows of the studies say."""

import json
from statistics import fmean, stdev

import pytest

from helpers import ROOT
from tailormix import METHODS
from tailormix.experiments import read
from tailormix.studies.raw import read_csv

PAGE = " ".join((ROOT / "docs" / "tau.md").read_text(encoding="utf-8").split())


def validation(
    study: str,
    key: str | None = None,
    column: str = "validation_nll",
    seeds: tuple[str, ...] = tuple("01234"),
) -> dict[str, dict[object, float]]:
    """Means over seeds, by data set and by a setting of SK Mixup's candidates, or else by row."""
    found: dict[str, dict[object, list[float]]] = {}
    for line in read_csv(ROOT / "docs" / "results" / f"{study}.csv"):
        if line["seed"] in seeds and (key is None or line["row"] == "sk-mixup"):
            setting = line["row"] if key is None else json.loads(line["candidate"])[key]
            values = found.setdefault(line["data"], {}).setdefault(setting, [])
            values.append(float(line[column]))
    return {data: {name: fmean(each) for name, each in values.items()} for data, values in found.items()}


def test_tau_std_has_the_lowest_validation_nll_of_the_sweep_and_nearly_so_with_a_temperature() -> None:
    sweep = [f"sk-mixup-{value}" for value in ("0.25", "0.4", "0.6", "0.8", "1.0")]
    for values in validation("scratch").values():
        assert min(sweep, key=lambda row: values[row]) == "sk-mixup-0.25"
    scaled = validation("scratch", column="validation_ts_nll")
    for data, best in (("cifar10", "sk-mixup-1.0"), ("fashion-mnist", "sk-mixup-0.6")):
        values = scaled[data]
        assert min(sweep, key=lambda row: values[row]) == best
        assert values["sk-mixup-0.25"] - values[best] < 0.01


@pytest.mark.parametrize(
    ("study", "name"), [("images", "on image features"), ("text", "texts"), ("tables", "tables")]
)
def test_weak_against_the_papers_strength(study: str, name: str) -> None:
    found = validation(study, key="method.tau_max")
    gains = [values[1.0] - values[0.2] for values in found.values()]
    error = stdev(gains) / len(gains) ** 0.5
    start = PAGE.index(f"by {fmean(gains):.3f} ± {error:.3f} on ")
    shown = PAGE[start : start + 75]
    assert name in shown
    assert f"{sum(gain > 0 for gain in gains)} of {len(gains)}" in shown


def test_weak_against_the_papers_strength_from_scratch() -> None:
    found = validation("tuned", key="method.tau_max", seeds=("0",))  # the one that searches
    gains = {data: values[1.0] - values[0.2] for data, values in found.items()}
    assert (
        f"lower by {gains['cifar10']:.3f} on CIFAR-10 and by {gains['fashion-mnist']:.3f} on Fashion" in PAGE
    )


def test_automatic_strength_against_the_papers() -> None:
    for data, name in (("cifar10", "CIFAR-10"), ("fashion-mnist", "Fashion-MNIST")):
        values = validation("scratch")[data]
        assert f"{values['sk-mixup-auto']:.3f} against {values['sk-mixup-0.25']:.3f} on {name}" in PAGE


def settings(study: str) -> dict[tuple[str, str], dict[str, float]]:
    """Validation NLL with a temperature by row and candidate: the mean over seeds on each data set."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for line in read_csv(ROOT / "docs" / "results" / f"{study}.csv"):
        if "weight_decay" in line["candidate"] and "ensemble" not in line["row"]:
            values = found.setdefault((line["row"], line["candidate"]), {})
            values.setdefault(line["data"], []).append(float(line["validation_ts_nll"]))
    return {key: {data: fmean(each) for data, each in values.items()} for key, values in found.items()}


def test_features_are_trained_as_validation_rows_of_both_studies_say() -> None:
    texts, images = settings("text"), settings("images")
    common = texts.keys() & images.keys()
    assert len(common) > 20
    assert {len(texts[key]) for key in common} == {4}
    assert {len(images[key]) for key in common} == {5}
    row, candidate = min(common, key=lambda key: fmean((texts[key] | images[key]).values()))
    trained = read("features")
    assert row == trained.method.name
    assert json.loads(candidate) == {
        "optimiser.weight_decay": trained.training.optimiser.options["weight_decay"]
    }
    row, candidate = min(texts, key=lambda key: fmean(texts[key].values()))
    assert row == "regmixup"
    assert json.loads(candidate) == {
        "optimiser.weight_decay": trained.training.optimiser.options["weight_decay"],
        "method.alpha": METHODS["regmixup"].defaults["alpha"],
    }
