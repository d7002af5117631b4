"""The page of results in Markdown, from results files, and the texts that it shares with the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailormix.paper.claims import NEAR, NOT_RUN
from tailormix.paper.statistics import LEVEL
from tailormix.reports.numbers import markdown_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


NONE = "–"
LONGEST = 12  # list of facts that is shown
MARKS = {1: "¹", 2: "²"}
ARROWS = {"lower": " ↓", "higher": " ↑", "none": ""}
LEGEND = (
    "¹ best, ² second best. ± is the standard deviation over seeds (n in brackets). SE: our mean less the "
    "paper's in standard errors √(s²/n + t²/m), for the m runs that the paper states; a missing deviation "
    "is taken from the other side. Against ERM and Mixup: mean difference over shared seeds and p of a "
    "paired t-test, corrected over the rows of a column (Holm); * p < 0.05."
)
VERDICTS = """Verdicts. *Better* or *worse* is decided by a paired t-test over shared seeds, corrected
over the comparisons of the claim (Holm): p < 0.05 in the claimed direction agrees, in the other
disagrees. *Equal* is decided by an equivalence test (two one-sided paired t-tests) with the margin that
is printed: it agrees where the difference is shown to be smaller, and disagrees where it is shown to be
larger. A mean agrees with the paper's within 2 standard errors (SE). Two frequencies are compared by a
test of proportions, a fact of a figure by the printed bound. All else is not decided by these runs:
neither agreement nor contradiction. What is not run are tables of the paper, which need GPUs; the study
`scratch` has its regime at the size of a CPU.
"""
INTRODUCTION = """# The paper's tables, figures and claims

Made by `tailormix results` from the files in `docs/results/`, which `tailormix reproduce NAME --results
docs/results` and `tailormix study NAME --results docs/results` write; do not edit. Every number can be made
again by the command above its table. Selection, temperature and hyper-parameters see training and validation
data only, unless a heading names the released code's protocol.
"""


def results_page(
    results: Sequence[Mapping[str, Any]], claims: Sequence[Mapping[str, Any]], folder: str
) -> str:
    """The whole page of results files and evaluated claims; ``folder`` is the link to the files' folder."""
    header = ["claim", "what the paper's tables say", "verdict"]
    rows = [[claim[key] for key in ("claim", "paper", "verdict")] for claim in claims]
    parts = [INTRODUCTION, f"{LEGEND} † the paper's number is reported from others, and ranked apart.\n"]
    parts += ["## The paper's claims\n", VERDICTS, "\n".join(markdown_table(header, rows)) + "\n"]
    parts += [*map(_claim_section, claims), *(results_section(one, folder) for one in results)]
    return "\n".join(parts)


def results_section(results: Mapping[str, Any], folder: str) -> str:
    """A table or a figure under its heading."""
    return _figure_section(results, folder) if "facts" in results else _table_section(results)


def _claim_section(claim: Mapping[str, Any]) -> str:
    """The comparisons behind a verdict, and why it came out so."""
    measured = [one for one in claim["compared"] if one["verdict"] != NOT_RUN]
    lines = [f"### {claim['claim']}: {claim['verdict']}", ""]
    if measured:
        header = ["results", "compared", "expected", "found", "verdict"]
        lines += [*markdown_table(header, [_comparison(one) for one in measured]), ""]
    waiting = dict.fromkeys(_where(one) for one in claim["compared"] if one not in measured)
    lines += [f"Not run: {'; '.join(waiting)}.", ""] if waiting else []
    return "\n".join([*lines, claim["why"], ""] if claim["why"] else lines)


def _where(one: Mapping[str, Any]) -> str:
    """The results of a comparison and, of a table or study, the setting in them."""
    return ", ".join(one[key] for key in ("results", "setting") if key in one)


def _comparison(one: Mapping[str, Any]) -> list[str]:
    """Results, what was compared, what was expected, what was found, and the verdict."""
    if "fact" in one:
        bounds = [f"{key.replace('_', ' ')} {one[key]:g}" for key in ("at_least", "at_most") if key in one]
        name = " less ".join(", ".join(one[key]) for key in ("fact", "minus") if key in one)
        found = f"{one['value']:.4g}" + (f" ({p_text(one['p'])}, of {one['of']} each)" if "of" in one else "")
        return [_where(one), name, ", ".join(bounds), found, one["verdict"]]
    digits, where = one["digits"], _where(one)
    if "than" not in one:
        found = f"{one['ours']['mean']:.{digits}f}, paper {one['paper']['mean']:.{digits}f}"
        found += f" ({difference_text(one)})"
        return [where, f"{one['row']}: {one['title']}", f"within {NEAR:g} SE", found, one["verdict"]]
    expected = one["expect"] + (f" within {one['margin']:g}" if "margin" in one else "")
    found = f"{one['ours']['mean']:.{digits}f} and {one['other']['mean']:.{digits}f}"
    found += f" ({one['difference']:+.{digits}f}{'' if one['p'] is None else ', ' + p_text(one['p'])})"
    return [where, f"{one['row']} with {one['than']}: {one['title']}", expected, found, one["verdict"]]


def _figure_section(results: Mapping[str, Any], folder: str) -> str:
    """The images of a figure and the facts that it shows."""
    lines = [f"## {heading(results)}", "", f"`tailormix reproduce {_arguments(results)}`", ""]
    lines += [results["note"], ""] if results["note"] else []
    lines += [line for image in _images(results, folder) for line in (image, "")]
    lines += [results["facts"]["caption"], ""] if "caption" in results["facts"] else []
    for header, body in fact_tables(results["facts"]):
        lines += [*markdown_table(header, body), ""]
    return "\n".join([*lines, f"Made with {made_with(results)}.", ""])


def _images(results: Mapping[str, Any], folder: str) -> list[str]:
    """Links to a figure's images; of one in two formats, the SVG."""
    names = results.get("files", [])
    chosen = [n for n in names if n.endswith(".svg") or (n.endswith(".png") and f"{n[:-4]}.svg" not in names)]
    return [f"![{results['title']}]({folder}/{name})" for name in chosen]


def _table_section(results: Mapping[str, Any]) -> str:
    """The numbers of a table, setting by setting."""
    where = [f"section {results['section']}"] if results["section"] else []
    where += [f"`{results['label']}`"] if results["label"] else []
    command = f"`tailormix reproduce {_arguments(results)}`"
    lines = [f"## {heading(results)}", "", command + (f" · paper: {', '.join(where)}" if where else "")]
    lines += ["", results["note"]] if results["note"] else []
    for setting in results["settings"]:
        lines += ["", f"### {setting['title']}", "", *_numbers_table(setting), *_tests_table(setting)]
    origin = made_with(results)
    return "\n".join([*lines, "", f"Made with {origin}." if origin else ""]).rstrip() + "\n"


def _arguments(results: Mapping[str, Any]) -> str:
    """The arguments of the command that makes these results again."""
    options = [f" --{key} {results[key]}" for key in ("budget", "protocol") if results[key] != "paper"]
    return str(results["table"]) + "".join(options)


def _numbers_table(setting: Mapping[str, Any]) -> list[str]:
    """Rows against columns: ours, and beside it the paper's and the difference where it gives any."""
    header, shown = ["row"], []
    for column in setting["columns"]:
        with_paper = any("paper" in _number(row, column["name"]) for row in setting["rows"])
        header += [column["title"] + ARROWS[column["better"]], *(["paper", "difference"] * with_paper)]
        shown.append((column, with_paper))
    body = [
        [row_title(row), *(text for one in shown for text in _number_texts(row, *one))]
        for row in setting["rows"]
    ]
    return markdown_table(header, body)


def _number_texts(row: Mapping[str, Any], column: Mapping[str, Any], with_paper: bool) -> list[str]:
    number, digits = _number(row, column["name"]), column["digits"]
    texts = [_emphasised(ours_text(number, digits), number.get("ours"))]
    if with_paper:
        texts += [_emphasised(paper_text(number, digits), number.get("paper")), difference_text(number)]
    return texts


def _emphasised(text: str, number: Mapping[str, Any] | None) -> str:
    """Best in bold, second best underlined."""
    place = (number or {}).get("place")
    if text == NONE or place not in (1, 2):
        return text
    return f"**{text}**" if place == 1 else f"<u>{text}</u>"


def _tests_table(setting: Mapping[str, Any]) -> list[str]:
    """Every row against ERM and Mixup, column by column; nothing where nothing was tested."""
    tested = [
        (column, method)
        for column in setting["columns"]
        for method in setting["baselines"]
        if any(method in _number(row, column["name"]).get("against", {}) for row in setting["rows"])
    ]
    if not tested:
        return []
    header = ["row", *(f"{column['title']} against {setting['baselines'][m]}" for column, m in tested)]
    body = [
        [row_title(row), *(against_text(_number(row, c["name"]), m, c["digits"]) for c, m in tested)]
        for row in setting["rows"]
        if any(_number(row, column["name"]).get("against") for column, _ in tested)
    ]
    summary = "<summary>Paired tests over seeds</summary>"
    return ["", "<details>", summary, "", *markdown_table(header, body), "", "</details>"]


def _number(row: Mapping[str, Any], column: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = row["cells"].get(column, {})
    return found


def row_title(row: Mapping[str, Any]) -> str:
    """Group and title of a row; a dagger marks what the paper reports from others."""
    group = f"{row['group']}: " if row["group"] else ""
    return f"{group}{row['title']}" + (" †" if row["reported"] else "")


def ours_text(number: Mapping[str, Any], digits: int) -> str:
    """Mean ± deviation (n) of our runs.

    >>> ours_text({"ours": {"mean": 1.25, "std": 0.125, "n": 4, "place": 1}}, 2)
    '1.25 ± 0.12 (4)¹'
    """
    ours = number.get("ours")
    if ours is None:
        return NONE
    std = "" if ours["std"] is None else f" ± {ours['std']:.{digits}f}"
    return f"{ours['mean']:.{digits}f}{std} ({ours['n']}){_mark(ours)}"


def paper_text(number: Mapping[str, Any], digits: int) -> str:
    """Mean, and deviation where there is one, of the paper.

    >>> paper_text({"paper": {"mean": 1.5, "std": None, "place": 2}}, 1)
    '1.5²'
    """
    paper = number.get("paper")
    if paper is None:
        return NONE
    std = "" if paper["std"] is None else f" ± {paper['std']:.{digits}f}"
    return f"{paper['mean']:.{digits}f}{std}{_mark(paper)}"


def _mark(number: Mapping[str, Any]) -> str:
    """The mark of the best and second best."""
    return MARKS.get(number.get("place", 0), "")


def difference_text(number: Mapping[str, Any]) -> str:
    """Our mean less the paper's in standard errors.

    >>> difference_text({"standard_errors": -0.123})
    '-0.12 SE'
    """
    found = number.get("standard_errors")
    return NONE if found is None else f"{found:+.2f} SE"


def against_text(number: Mapping[str, Any], baseline: str, digits: int) -> str:
    """Difference from a baseline with its corrected p-value.

    >>> against_text({"against": {"erm": {"difference": -0.5, "p": 0.01, "p_holm": 0.03}}}, "erm", 2)
    '-0.50, p 0.030*'
    """
    found = number.get("against", {}).get(baseline)
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


def heading(results: Mapping[str, Any]) -> str:
    """Title with what a reader must never miss: budget and protocol.

    >>> heading({"title": "T", "budget": "small", "protocol": "paper"})
    "T (small budget: not the paper's setting)"
    """
    remarks = []
    if results["budget"] == "small":
        remarks.append("small budget: not the paper's setting")
    if results["protocol"] == "released":
        remarks.append("protocol of the released code: selected and calibrated as it did")
    return str(results["title"]) + (f" ({'; '.join(remarks)})" if remarks else "")


def made_with(results: Mapping[str, Any]) -> str:
    """Where numbers come from: versions and commits, never a clock."""
    names = [name for name in ("tailormix", "torch") if results["versions"].get(name)]
    versions = ", ".join(f"{name} {' and '.join(results['versions'][name])}" for name in names)
    parts = [commit.partition("+") for commit in results["commits"]]
    commits = ", ".join(name[:10] + ("+changes" if plus else "") for name, plus, _ in parts)
    return "; ".join(part for part in (versions, f"commit {commits}" if commits else "") if part)


def flat_facts(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and texts of a figure's numbers; long lists, its caption and its settings are left out.

    >>> list(flat_facts({"caption": "…", "a": {"b": 0.5}, "c": [1, None]}))
    [('c', '1, –'), ('a, b', '0.5')]
    """
    for name, record in _records(facts):
        yield from _named(name, record)


def fact_tables(facts: Mapping[str, Any]) -> list[tuple[list[str], list[list[str]]]]:
    """Header and body of tables of them: facts with the same fields share one, all others another.

    >>> single, shared = fact_tables({"n": 3, "a": {"ece": 0.5, "nll": 1}, "b": {"ece": 0.25, "nll": None}})
    >>> single, shared
    ((['fact', 'value'], [['n', '3']]), (['', 'ece', 'nll'], [['a', '0.5', '1'], ['b', '0.25', '–']]))
    """
    alike: dict[tuple[str, ...], list[tuple[str, Mapping[str, Any]]]] = {}
    for name, record in _records(facts):
        alike.setdefault(tuple(record), []).append((name, record))
    single: list[list[str]] = []
    tables = []
    for fields, records in alike.items():
        if len(fields) > 1 and len(records) > 1:
            body = [[name, *(fact_text(record[field]) for field in fields)] for name, record in records]
            tables.append((["", *fields], body))
        else:
            single += [list(pair) for name, record in records for pair in _named(name, record)]
    return [(["fact", "value"], single), *tables] if single else tables


def _named(name: str, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field, value in record.items():
        yield f"{name}, {field}" if name else field, fact_text(value)


def _records(facts: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every section that has values of its own, with its name."""
    values: dict[str, Any] = {}
    inner: list[tuple[str, Mapping[str, Any]]] = []
    for key, value in facts.items():
        place = f"{name}, {key}" if name else key
        if key in ("caption", "settings") or (isinstance(value, list) and len(value) > LONGEST):
            continue
        if isinstance(value, dict):
            inner += _records(value, place)
        elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
            inner += [(f"{place} {k}", each) for k, each in enumerate(value, start=1)]
        else:
            values[key] = value
    if values:
        yield name, values
    yield from inner


def fact_text(value: Any) -> str:
    """One fact in a few characters."""
    if isinstance(value, list):
        return ", ".join(map(fact_text, value))
    return f"{value:.4g}" if isinstance(value, float) else str(NONE if value is None else value)
