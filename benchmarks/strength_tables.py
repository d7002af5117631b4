"""``python -m benchmarks.strength_tables docs/results/strength.csv``: the study of rules as tables."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path  # noqa: TC003, typer reads it
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Annotated

import typer

from benchmarks.harness import markdown_table
from benchmarks.strength import DATA, METHODS, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    #: a metric by data set and seed
    Values = Mapping[tuple[str, str], float]

METRICS = ("accuracy", "ece", "nll", "nll_after")
#: rules beside ERM, and how they are called there
SHOWN = {"fixed 0.05": "0.05", "fixed 0.2": "0.2", "fixed 1": "1", "start 1": "automatic"}


class Study:
    """Metrics of all runs: ``study["nll", method, rule]`` are values by data set and seed."""

    def __init__(self, rows: Iterable[Mapping[str, str]]) -> None:
        self.values: dict[tuple[str, str, str], dict[tuple[str, str], float]] = defaultdict(dict)
        for row in rows:
            for metric in METRICS:
                self.values[metric, row["method"], row["rule"]][row["data"], row["seed"]] = float(row[metric])

    def __getitem__(self, key: tuple[str, str, str]) -> Values:
        return self.values.get(key, {})

    def methods(self, rule: str) -> list[str]:
        """The methods that ran by this rule."""
        return [method for method in METHODS if self["nll", method, rule]]

    @property
    def rules(self) -> list[str]:
        """All rules, in the order of the file."""
        return list(dict.fromkeys(rule for _, method, rule in self.values if method != "erm"))


def by_data(values: Values) -> dict[str, float]:
    """The mean over seeds of each data set.

    >>> by_data({("a", "0"): 1.0, ("a", "1"): 2.0, ("b", "0"): 3.0})
    {'a': 1.5, 'b': 3.0}
    """
    found = defaultdict(list)
    for (data, _), value in sorted(values.items()):
        found[data].append(value)
    return {data: fmean(each) for data, each in found.items()}


def differences(values: Values, reference: Values) -> dict[str, float]:
    """The mean over seeds of value - reference of each data set, where both are known.

    >>> differences({("a", "0"): 1.0, ("b", "0"): 3.0}, {("a", "0"): 0.5})
    {'a': 0.5}
    """
    return by_data({place: values[place] - reference[place] for place in values.keys() & reference.keys()})


def with_error(values: Iterable[float], digits: int = 4) -> str:
    """Mean ± standard error.

    >>> with_error([1.0, 3.0], 1)
    '+2.0 ± 1.0'
    """
    known = list(values)
    error = f" ± {stdev(known) / len(known) ** 0.5:.{digits}f}" if len(known) > 1 else ""
    return f"{fmean(known):+.{digits}f}{error}" if known else ""


def all_rules(study: Study) -> str:
    """Every rule against the prototype: differences in NLL over data sets, the methods' mean for each."""
    lines = []
    for rule in study.rules:
        methods = study.methods(rule)
        found = []
        for metric in ("nll", "nll_after"):
            pairs = [(study[metric, method, rule], study[metric, method, "prototype"]) for method in methods]
            each = [
                ((data, method), value)
                for method, pair in zip(methods, pairs, strict=True)
                for data, value in differences(*pair).items()
            ]
            found.append(list(by_data(dict(each)).values()))
        runs = sum(len(study["nll", method, rule]) for method in methods)
        lines.append((fmean(found[0]), [rule, str(len(found[0])), str(runs), *map(with_error, found)]))
    header = ["rule", "data sets", "runs", "NLL − prototype", "NLL after T − prototype"]
    return markdown_table(header, [cells for _, cells in sorted(lines)])


def against_erm(study: Study, data: Iterable[str] = DATA) -> str:
    """Each method at fixed and automatic strength: means over data sets, and NLL after T against ERM."""
    wanted = set(data)

    def within(metric: str, method: str, rule: str) -> Values:
        return {place: value for place, value in study[metric, method, rule].items() if place[0] in wanted}

    def line(method: str, rule: str) -> list[str]:
        found = {metric: list(by_data(within(metric, method, rule)).values()) for metric in METRICS}
        against = differences(within("nll_after", method, rule), within("nll_after", "erm", "erm"))
        worst = max(against, key=lambda name: against[name])
        return [
            method,
            SHOWN.get(rule, ""),
            str(len(against)),
            *(f"{100 * fmean(found[metric]):.1f}" for metric in ("accuracy", "ece")),
            *(f"{fmean(found[metric]):.3f}" for metric in ("nll", "nll_after")),
            *(
                [with_error(against.values()), f"{worst} {against[worst]:+.3f}"]
                if method != "erm"
                else ["", ""]
            ),
        ]

    rows = [("erm", "erm"), *((method, rule) for method in METHODS for rule in SHOWN)]
    header = ["method", "strength", "data sets", "accuracy", "ECE", "NLL", "NLL after T", "… − ERM", "worst"]
    return markdown_table(header, [line(*row) for row in rows if within("nll", *row)])


def main(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="CSV of the study.")],
) -> None:
    """Print all rules against the prototype, then methods against ERM, on tables and on features."""
    rows = read_rows(file)
    study = Study(rows)
    features = sorted({row["data"] for row in rows} - set(DATA))
    typer.echo(f"{all_rules(study)}\n\n{against_erm(study)}")
    for name in features:
        typer.echo(f"\n{name}\n\n{against_erm(study, [name])}")


if __name__ == "__main__":
    typer.run(main)
