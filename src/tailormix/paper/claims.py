"""What the paper claims, compared with our results: statistical tests decide every comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.paper.results import number_at
from tailormix.paper.statistics import LEVEL, frequency_test, holm, paired_test
from tailormix.paper.tables import read_data

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


KEYS = ("claim", "paper", "why", "compare")
COMPARISON_KEYS = (
    *("results", "setting", "row", "than", "column", "expect", "margin"),
    *("fact", "minus", "of", "at_least", "at_most"),
)
EXPECTED = ("better", "worse", "equal", "near the paper")
NEAR = 2.0  # standard errors
AGREES, DISAGREES = "agrees", "disagrees"
UNDECIDED, NOT_RUN = "not decided by these runs", "not run"


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
            if (comparison.get("expect") == "equal") != ("margin" in comparison):
                raise ValueError(
                    f"expect = 'equal' goes with a margin in {claim['claim']!r}, got {comparison}"
                )
    return claims


def evaluate_claim(claim: Mapping[str, Any], results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A claim with its comparisons decided, and a verdict over them; ``results`` by file stem or study.

    p-values of differences are corrected for their number (Holm); those of equivalence are not, as a claim of
    several equal columns needs all of them.
    """
    compared = [_compare(one, results) for one in claim["compare"]]
    tested = [one for one in compared if one.get("p") is not None and one.get("expect") != "equal"]
    for one, p in zip(tested, holm([one["p"] for one in tested]), strict=True):
        one["p"] = p
    for one in compared:
        one["verdict"] = _verdict(one)
    texts = {key: " ".join(claim.get(key, "").split()) for key in ("claim", "paper", "why")}
    return {**texts, "compared": compared, "verdict": overall_verdict([one["verdict"] for one in compared])}


def _compare(comparison: Mapping[str, Any], results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A comparison with its numbers: two rows seed by seed, a row with the paper, or a fact.

    Adds ``holds`` where a bound decides; ``difference``, ``p`` and ``as_claimed`` where a test does; nothing
    where nothing was run.
    """
    found = results.get(comparison["results"])
    if found is None:
        return dict(comparison)
    if "fact" in comparison:
        return {**comparison, **_compare_fact(comparison, found.get("facts", {}))}
    numbers, column = _numbers(found, comparison)
    row = numbers.get(comparison["row"], {})
    shown = {**comparison, **{key: column.get(key) for key in ("better", "digits", "title")}}
    shown["ours"] = row.get("ours")
    if "than" not in comparison:
        errors = row.get("standard_errors")
        if errors is None:
            return shown
        return {**shown, "paper": row["paper"], "standard_errors": errors, "holds": abs(errors) <= NEAR}
    other = numbers.get(comparison["than"], {}).get("ours")
    test = (
        row.get("ours")
        and other
        and paired_test(row["ours"]["values"], other["values"], comparison.get("margin"))
    )
    if not test:
        return shown
    better = test.difference < 0 if column["better"] == "lower" else test.difference > 0
    as_claimed = better == (comparison["expect"] == "better")
    return {**shown, "other": other, "difference": test.difference, "p": test.p, "as_claimed": as_claimed}


def _compare_fact(comparison: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """A fact, less another where one is named, between bounds; two frequencies ``of`` n cases are tested."""
    first, second = _fact(facts, comparison["fact"]), _fact(facts, comparison.get("minus", ()))
    if first is None or ("minus" in comparison and second is None):
        return {}
    value = first - (second or 0.0)
    if "of" in comparison:
        p = frequency_test(first, second or 0.0, comparison["of"])
        return {"value": value, "difference": value, "p": p, "as_claimed": value > 0}
    holds = comparison.get("at_least", value) <= value <= comparison.get("at_most", value)
    return {"value": value, "holds": holds}


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
    if "holds" in comparison:
        return AGREES if comparison["holds"] else DISAGREES
    if "difference" not in comparison:
        return NOT_RUN
    p = comparison["p"]
    if p is None:
        return UNDECIDED
    if comparison.get("expect") == "equal":
        return AGREES if p < LEVEL else DISAGREES if p > 1 - LEVEL else UNDECIDED
    if p >= LEVEL:
        return UNDECIDED
    return AGREES if comparison["as_claimed"] else DISAGREES


def overall_verdict(verdicts: Sequence[str]) -> str:
    """One verdict for several comparisons: theirs if they have the same, else how many have which.

    >>> overall_verdict(["agrees", "agrees"])
    'agrees'
    >>> overall_verdict(["agrees", "not decided by these runs", "agrees"])
    'agrees in 2 of 3, not decided in 1'
    """
    if len(set(verdicts)) < 2:
        return verdicts[0] if verdicts else NOT_RUN
    counts = [(name, verdicts.count(name)) for name in (AGREES, DISAGREES, UNDECIDED, NOT_RUN)]
    (first, most), *rest = [(name.removesuffix(" by these runs"), count) for name, count in counts if count]
    return ", ".join([f"{first} in {most} of {len(verdicts)}", *(f"{name} in {n}" for name, n in rest)])
