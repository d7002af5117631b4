"""What the paper claims, compared with our results: numbers decide every comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.paper.results import number_at
from tailormix.paper.statistics import LEVEL, holm, paired_test
from tailormix.paper.tables import read_data

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


KEYS = ("claim", "paper", "why", "compare")
COMPARISON_KEYS = (
    *("results", "setting", "row", "than", "column", "expect"),
    *("fact", "minus", "at_least", "at_most"),
)
EXPECTED = ("better", "worse", "equal", "near the paper")
NEAR = 2.0  # pooled standard deviations


def read_claims() -> list[dict[str, Any]]:
    """The paper's claims, each with the comparisons that decide it."""
    claims: list[dict[str, Any]] = read_data("claims")["claims"]
    for claim in claims:
        for key in claim:
            checks.known("key of a claim", key, KEYS)
        for comparison in claim["compare"]:
            for key in comparison:
                checks.known(f"key of a comparison of {claim['claim']!r}", key, COMPARISON_KEYS)
            checks.known("expect", comparison.get("expect", "better"), EXPECTED)
    return claims


def evaluate_claim(claim: Mapping[str, Any], results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A claim with its comparisons decided, and a verdict over all of them; ``results`` by file stem."""
    compared = [_compare(one, results) for one in claim["compare"]]
    tested = [one for one in compared if one.get("p") is not None]
    for one, p in zip(tested, holm([one["p"] for one in tested]), strict=True):
        one["p"] = p
    for one in compared:
        one["verdict"] = _verdict(one)
    texts = {key: " ".join(claim.get(key, "").split()) for key in ("claim", "paper", "why")}
    return {**texts, "compared": compared, "verdict": overall_verdict([one["verdict"] for one in compared])}


def _compare(comparison: Mapping[str, Any], results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A comparison with its numbers: two rows seed by seed, a row with the paper, or a fact."""
    found = results.get(comparison["results"])
    if found is None:
        return dict(comparison)
    if "fact" in comparison:
        value = _fact(found.get("facts", {}), comparison["fact"])
        less = _fact(found.get("facts", {}), comparison["minus"]) if "minus" in comparison else 0.0
        return {**comparison, "value": None if value is None or less is None else value - less}
    numbers, column = _numbers(found, comparison)
    row = numbers.get(comparison["row"], {})
    shown = {**comparison, **{key: column.get(key) for key in ("better", "digits", "title")}}
    shown["ours"] = row.get("ours")
    if "than" not in comparison:
        return {**shown, "paper": row.get("paper"), "difference": row.get("difference")}
    other = numbers.get(comparison["than"], {}).get("ours")
    if not row.get("ours") or not other:
        return shown
    test = paired_test(row["ours"]["values"], other["values"])
    return shown | {"other": other} | ({} if test is None else {"difference": test.difference, "p": test.p})


def _fact(facts: Any, keys: Sequence[str]) -> float | None:
    """The number under several keys, which may hold dots.

    >>> _fact({"theorem 3.2": {"failures": 3}}, ["theorem 3.2", "failures"])
    3.0
    """
    for key in keys:
        facts = facts.get(key) if isinstance(facts, dict) else None
    return number_at({"value": facts}, "value")


def _numbers(
    results: Mapping[str, Any], comparison: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Numbers of a column by row, and the column itself; empty where the results have none."""
    for setting in results["settings"]:
        if setting["name"] == comparison["setting"]:
            columns = {column["name"]: column for column in setting["columns"]}
            rows = {row["name"]: row["cells"].get(comparison["column"], {}) for row in setting["rows"]}
            return rows, columns.get(comparison["column"], {})
    return {}, {}


def _verdict(comparison: Mapping[str, Any]) -> str:
    """What the numbers say of one comparison."""
    if "fact" in comparison:
        value = comparison.get("value")
        if value is None:
            return "not measured"
        holds = comparison.get("at_least", value) <= value <= comparison.get("at_most", value)
        return "agrees" if holds else "disagrees"
    difference = comparison.get("difference")
    if difference is None:
        return "not measured"
    if "than" not in comparison:
        return "agrees" if abs(difference) <= NEAR else "disagrees"
    significant = comparison.get("p") is not None and comparison["p"] < LEVEL
    if comparison["expect"] == "equal":
        return "disagrees" if significant else "agrees"
    better = difference < 0 if comparison["better"] == "lower" else difference > 0
    as_claimed = better if comparison["expect"] == "better" else not better
    if significant:
        return "agrees" if as_claimed else "disagrees"
    return "tends to agree" if as_claimed else "tends to disagree"


def overall_verdict(verdicts: Sequence[str]) -> str:
    """One verdict for several comparisons.

    >>> overall_verdict(["agrees", "tends to agree"]), overall_verdict(["agrees", "disagrees"])
    ('agrees in part', 'mixed')
    """
    measured = [one for one in verdicts if one != "not measured"]
    if not measured:
        return "not measured"
    if set(measured) == {"agrees"}:
        return "agrees" if len(measured) == len(verdicts) else "agrees where measured"
    if "agrees" in measured and "disagrees" in measured:
        return "mixed"
    if "agrees" in measured:
        return "agrees in part"
    return "disagrees" if "disagrees" in measured else "undecided"
