"""What the paper claims, held against our results: each claim with comparisons that numbers decide."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.paper.results import at_path
from tailormix.paper.statistics import LEVEL, holm, paired

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


Records = dict[str, dict[str, Any]]
KEYS = ("claim", "paper", "why", "compare")
COMPARED = ("results", "setting", "row", "than", "column", "expect", "fact", "minus", "at_least", "at_most")
EXPECTED = ("better", "worse", "equal", "near the paper")
NEAR = 2.0  # pooled standard deviations


def read_claims() -> dict[str, Any]:
    """The file of claims, with what the front page shows."""
    text = resources.files("tailormix.paper").joinpath("data", "claims.toml").read_text(encoding="utf-8")
    found = tomllib.loads(text)
    for claim in found["claims"]:
        for key in claim:
            checks.known("key of a claim", key, KEYS)
        for one in claim["compare"]:
            for key in one:
                checks.known(f"key of a comparison of {claim['claim']!r}", key, COMPARED)
            checks.known("expect", one.get("expect", "better"), EXPECTED)
    return found


def judged(claims: Iterable[Mapping[str, Any]], records: Records) -> list[dict[str, Any]]:
    """Every claim with its comparisons decided, and a verdict over all of them."""
    return [_judged(claim, records) for claim in claims]


def _judged(claim: Mapping[str, Any], records: Records) -> dict[str, Any]:
    found = [_compared(one, records) for one in claim["compare"]]
    tested = [one for one in found if one.get("p") is not None]
    for one, p in zip(tested, holm([one["p"] for one in tested]), strict=True):
        one["p"] = p
    for one in found:
        one["verdict"] = _verdict(one)
    text = {key: " ".join(claim.get(key, "").split()) for key in ("claim", "paper", "why")}
    return {**text, "compared": found, "verdict": verdict([one["verdict"] for one in found])}


def _compared(one: Mapping[str, Any], records: Records) -> dict[str, Any]:
    """One comparison with its numbers: two rows seed by seed, a row with the paper, or a fact."""
    record = records.get(one["results"])
    if record is None:
        return dict(one)
    if "fact" in one:
        return {**one, "value": _difference(record.get("facts", {}), one)}
    cells, column = _cells(record, one)
    row = cells.get(one["row"], {})
    shown = {**one, "better": column.get("better"), "digits": column.get("digits")}
    shown |= {"title": column.get("title"), "ours": row.get("ours")}
    if "than" not in one:
        return {**shown, "paper": row.get("paper"), "difference": row.get("difference")}
    other = cells.get(one["than"], {}).get("ours")
    if not row.get("ours") or not other:
        return shown
    test = paired(_by_seed(row["ours"]), _by_seed(other))
    return shown | {"other": other} | ({} if test is None else {"difference": test.difference, "p": test.p})


def _difference(facts: Any, one: Mapping[str, Any]) -> float | None:
    """A fact, less another one where ``minus`` names it."""
    value, less = _fact(facts, one["fact"]), _fact(facts, one["minus"]) if "minus" in one else 0.0
    return None if value is None or less is None else value - less


def _fact(facts: Any, keys: Sequence[str]) -> float | None:
    """The number under several keys, which may hold dots.

    >>> _fact({"theorem 3.2": {"failures": 3}}, ["theorem 3.2", "failures"])
    3.0
    """
    for key in keys:
        facts = facts.get(key) if isinstance(facts, dict) else None
    return at_path({"value": facts}, "value")


def _by_seed(ours: Mapping[str, Any]) -> dict[int, float]:
    return {int(seed): value for seed, value in ours["values"].items()}


def _cells(record: Mapping[str, Any], one: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Cells of a column by row, and the column itself; empty where the results have none."""
    for setting in record["settings"]:
        if setting["name"] == one["setting"]:
            columns = {column["name"]: column for column in setting["columns"]}
            rows = {row["name"]: row["cells"].get(one["column"], {}) for row in setting["rows"]}
            return rows, columns.get(one["column"], {})
    return {}, {}


def _verdict(one: Mapping[str, Any]) -> str:
    """What the numbers say of one comparison."""
    if "fact" in one:
        value = one.get("value")
        if value is None:
            return "not measured"
        return "agrees" if one.get("at_least", value) <= value <= one.get("at_most", value) else "disagrees"
    difference = one.get("difference")
    if difference is None:
        return "not measured"
    if "than" not in one:
        return "agrees" if abs(difference) <= NEAR else "disagrees"
    sure = one.get("p") is not None and one["p"] < LEVEL
    if one["expect"] == "equal":
        return "disagrees" if sure else "agrees"
    good = difference < 0 if one["better"] == "lower" else difference > 0
    as_said = good if one["expect"] == "better" else not good
    if sure:
        return "agrees" if as_said else "disagrees"
    return "leans so" if as_said else "leans against"


def verdict(verdicts: Sequence[str]) -> str:
    """One word for several comparisons.

    >>> verdict(["agrees", "leans so"]), verdict(["agrees", "disagrees"])
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
