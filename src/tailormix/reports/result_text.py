"""The numbers of a result as short texts: cells, places, differences and tests. Works on plain records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LEVEL = 0.05
NONE = "–"
SHORT = 12  # longest list of facts that is shown
MARKS = {1: "¹", 2: "²"}
LEGEND = (
    "¹ best, ² second best. ± is the standard deviation over seeds (n in brackets). Difference: our mean "
    "less the paper's, in pooled standard deviations √((s² + t²)/2); where one side has none, the other "
    "stands for both. Against ERM and Mixup: mean difference over shared seeds and p of a paired t-test, "
    "corrected over the rows of a column (Holm); * p < 0.05."
)


def ours_text(cell: Mapping[str, Any], digits: int) -> str:
    """Mean ± deviation (n) of our runs.

    >>> ours_text({"ours": {"mean": 1.25, "std": 0.125, "n": 4, "place": 1}}, 2)
    '1.25 ± 0.12 (4)¹'
    """
    ours = cell.get("ours")
    if ours is None:
        return NONE
    std = "" if ours["std"] is None else f" ± {ours['std']:.{digits}f}"
    return f"{ours['mean']:.{digits}f}{std} ({ours['n']}){place_text(ours)}"


def paper_text(cell: Mapping[str, Any], digits: int) -> str:
    """Mean, and deviation where there is one, of the paper.

    >>> paper_text({"paper": {"mean": 1.5, "std": None, "place": 2}}, 1)
    '1.5²'
    """
    paper = cell.get("paper")
    if paper is None:
        return NONE
    std = "" if paper["std"] is None else f" ± {paper['std']:.{digits}f}"
    return f"{paper['mean']:.{digits}f}{std}{place_text(paper)}"


def place_text(number: Mapping[str, Any]) -> str:
    """The mark of the best and second best."""
    return MARKS.get(number.get("place", 0), "")


def difference_text(cell: Mapping[str, Any]) -> str:
    """Our mean less the paper's in pooled standard deviations.

    >>> difference_text({"difference": -0.123})
    '-0.12'
    """
    found = cell.get("difference")
    return NONE if found is None else f"{found:+.2f}"


def against_text(cell: Mapping[str, Any], baseline: str, digits: int) -> str:
    """Difference from a baseline with its corrected p-value.

    >>> against_text({"against": {"erm": {"difference": -0.5, "p": 0.01, "p_holm": 0.03}}}, "erm", 2)
    '-0.50, p 0.030*'
    """
    found = cell.get("against", {}).get(baseline)
    if found is None:
        return NONE
    text = f"{found['difference']:+.{digits}f}"
    return text if found["p_holm"] is None else f"{text}, {p_text(found['p_holm'])}"


def p_text(p: float) -> str:
    """A p-value, marked below 0.05.

    >>> p_text(0.00001), p_text(0.2)
    ('p<0.001*', 'p 0.200')
    """
    mark = "*" if p < LEVEL else ""
    return f"p<0.001{mark}" if p < 0.001 else f"p {p:.3f}{mark}"


def heading(record: Mapping[str, Any]) -> str:
    """Title with what a reader must never miss: budget and protocol.

    >>> heading({"title": "T", "kind": "table", "budget": "small", "protocol": "paper"})
    "T (small budget: not the paper's setting)"
    """
    remarks = []
    if record["kind"] == "study":
        remarks.append("our own study: no numbers in the paper")
    if record["budget"] == "small":
        remarks.append("small budget: not the paper's setting")
    if record["protocol"] == "released":
        remarks.append("protocol of the released code: selected and calibrated as it did")
    return str(record["title"]) + (f" ({'; '.join(remarks)})" if remarks else "")


def origin(record: Mapping[str, Any]) -> str:
    """Where numbers come from: versions and commits, never a clock."""
    names = [name for name in ("tailormix", "torch") if record["versions"].get(name)]
    versions = ", ".join(f"{name} {' and '.join(record['versions'][name])}" for name in names)
    commits = ", ".join(_short(commit) for commit in record["commits"])
    return "; ".join(part for part in (versions, f"commit {commits}" if commits else "") if part)


def _short(commit: str) -> str:
    name, plus, _ = commit.partition("+")
    return name[:10] + ("+changes" if plus else "")


def facts_of(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Names and texts of a figure's numbers; long lists, its caption and its settings are left out.

    >>> list(facts_of({"caption": "…", "a": {"b": 0.5}, "c": [1, None]}))
    [('a.b', '0.5'), ('c', '1, –')]
    """
    for name, value in facts.items():
        if isinstance(value, dict) and name != "settings":
            yield from facts_of(value, f"{prefix}{name}.")
        elif name not in ("caption", "settings") and (not isinstance(value, list) or len(value) <= SHORT):
            yield f"{prefix}{name}", fact_text(value)


def fact_text(value: Any) -> str:
    """One fact in a few characters."""
    if isinstance(value, list):
        return ", ".join(map(fact_text, value))
    return f"{value:.4g}" if isinstance(value, float) else str(NONE if value is None else value)
