"""The page of results in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


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


ARROWS = {"lower": " ↓", "higher": " ↑", "none": ""}


def table_block(record: Mapping[str, Any], level: int = 2) -> str:
    """A record of results under a heading of its own."""
    where = [f"section {record['section']}"] if record["section"] else []
    where += [f"`{record['label']}`"] if record["label"] else []
    lines = [f"{'#' * level} {heading(record)}", ""]
    lines += [
        f"`tailormix reproduce {command_of(record)}`" + (f" · paper: {', '.join(where)}" if where else "")
    ]
    lines += ["", record["note"]] if record["note"] else []
    for setting in record["settings"]:
        lines += ["", f"{'#' * (level + 1)} {setting['title']}", "", *numbers_table(setting)]
        lines += paired_table(setting)
    return "\n".join([*lines, "", f"Made with {origin(record)}." if origin(record) else ""]).rstrip() + "\n"


def command_of(record: Mapping[str, Any]) -> str:
    """The words that make these results again."""
    options = [f" --{key} {record[key]}" for key in ("budget", "protocol") if record[key] != "paper"]
    return str(record["table"]) + "".join(options)


def numbers_table(setting: Mapping[str, Any]) -> list[str]:
    """Rows against columns: ours, and beside it the paper's and the difference where it gives any."""
    shown = [(column, _beside(setting, column["name"])) for column in setting["columns"]]
    header = ["row"]
    for column, beside in shown:
        title = column["title"] + ARROWS[column["better"]]
        header += [title, *(["paper", "difference"] if beside else [])]
    body = [
        [_title(row), *(text for column, beside in shown for text in _cells(row, column, beside))]
        for row in setting["rows"]
    ]
    return markdown_table(header, body)


def paired_table(setting: Mapping[str, Any]) -> list[str]:
    """Every row against ERM and Mixup, column by column; nothing where nothing was tested."""
    pairs = [(column, method) for column in setting["columns"] for method in setting["baselines"]]
    tested = [
        (column, method)
        for column, method in pairs
        if any(method in _cell(row, column["name"]).get("against", {}) for row in setting["rows"])
    ]
    if not tested:
        return []
    header = ["row", *(f"{column['title']} against {setting['baselines'][m]}" for column, m in tested)]
    body = [
        [_title(row), *(against_text(_cell(row, c["name"]), m, c["digits"]) for c, m in tested)]
        for row in setting["rows"]
        if any(_cell(row, column["name"]).get("against") for column, _ in tested)
    ]
    summary = "<summary>Paired tests over seeds</summary>"
    return ["", "<details>", summary, "", *markdown_table(header, body), "", "</details>"]


def markdown_table(header: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table.

    >>> markdown_table(["a", "b"], [["1", "2"]])
    ['| a | b |', '|---|---|', '| 1 | 2 |']
    """
    rows = [header, *body]
    texts = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return [texts[0], "|" + "---|" * len(header), *texts[1:]]


def _cell(row: Mapping[str, Any], column: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = row["cells"].get(column, {})
    return found


def _beside(setting: Mapping[str, Any], column: str) -> bool:
    return any("paper" in _cell(row, column) for row in setting["rows"])


def _title(row: Mapping[str, Any]) -> str:
    group = f"{row['group']}: " if row["group"] else ""
    return f"{group}{row['title']}" + (" †" if row["reported"] else "")


def _cells(row: Mapping[str, Any], column: Mapping[str, Any], beside: bool) -> list[str]:
    cell, digits = _cell(row, column["name"]), column["digits"]
    texts = [_marked(ours_text(cell, digits), cell.get("ours"))]
    if beside:
        texts += [_marked(paper_text(cell, digits), cell.get("paper")), difference_text(cell)]
    return texts


def _marked(text: str, number: Mapping[str, Any] | None) -> str:
    """Best in bold, second best underlined."""
    place = (number or {}).get("place")
    if text == NONE or place not in (1, 2):
        return text
    return f"**{text}**" if place == 1 else f"<u>{text}</u>"


BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"
INTRODUCTION = """# Results

Made by `tailormix results` from the files in `docs/results/`, which
`tailormix reproduce NAME --results docs/results` writes; do not edit. Every number can be made again by the
command above its table. Selection, temperature and hyper-parameters see training and validation data only,
unless a heading names the released code's protocol.
"""


def results_page(
    records: Sequence[Mapping[str, Any]], claims: Sequence[Mapping[str, Any]], pictures: str
) -> str:
    """The whole page; ``pictures`` is the way from it to the folder of results."""
    parts = [INTRODUCTION, f"{LEGEND} † reported by the paper from others, ranked apart.\n"]
    parts += ["## The paper's claims\n", "\n".join(claims_table(claims)) + "\n", *map(claim_block, claims)]
    parts += [block_of(record, pictures) for record in records]
    return "\n".join(parts)


def block_of(record: Mapping[str, Any], pictures: str) -> str:
    """A table or a figure under its heading."""
    return figure_block(record, pictures) if "facts" in record else table_block(record)


def claims_table(claims: Iterable[Mapping[str, Any]]) -> list[str]:
    """One line a claim."""
    rows = [[claim["claim"], claim["paper"], measured_text(claim), claim["verdict"]] for claim in claims]
    return markdown_table(["claim", "what the paper's tables say", "what we measured", "verdict"], rows)


def measured_text(claim: Mapping[str, Any]) -> str:
    """How many comparisons went which way."""
    said = [one["verdict"] for one in claim["compared"]]
    counts = [f"{said.count(word)} {word}" for word in dict.fromkeys(said) if word != "not measured"]
    return f"of {len(said)}: {', '.join(counts)}" if counts else "nothing yet"


def claim_block(claim: Mapping[str, Any]) -> str:
    """The comparisons behind a verdict, and why it came out so."""
    measured = [one for one in claim["compared"] if one["verdict"] != "not measured"]
    lines = [f"### {claim['claim']}: {claim['verdict']}", ""]
    if measured:
        header = ["results", "compared", "expected", "found", "verdict"]
        lines += [*markdown_table(header, [_comparison(one) for one in measured]), ""]
    return "\n".join([*lines, claim["why"], ""] if claim["why"] else lines)


def _comparison(one: Mapping[str, Any]) -> list[str]:
    if "fact" in one:
        bounds = [
            f"{word.replace('_', ' ')} {one[word]:g}" for word in ("at_least", "at_most") if word in one
        ]
        name = " less ".join(", ".join(one[key]) for key in ("fact", "minus") if key in one)
        return [one["results"], name, ", ".join(bounds), f"{one['value']:.4g}", one["verdict"]]
    digits, where = one["digits"], f"{one['results']}, {one['setting']}"
    if "than" not in one:
        found = f"{one['ours']['mean']:.{digits}f}, paper {one['paper']['mean']:.{digits}f}"
        found += f" ({one['difference']:+.2f} deviations)"
        return [where, f"{one['row']}: {one['title']}", "within 2 deviations", found, one["verdict"]]
    found = f"{one['ours']['mean']:.{digits}f} and {one['other']['mean']:.{digits}f}"
    found += f" ({one['difference']:+.{digits}f}{'' if one['p'] is None else ', ' + p_text(one['p'])})"
    return [where, f"{one['row']} with {one['than']}: {one['title']}", one["expect"], found, one["verdict"]]


def figure_block(record: Mapping[str, Any], pictures: str) -> str:
    """Pictures of a figure and the facts that it shows."""
    lines = [f"## {heading(record)}", "", f"`tailormix reproduce {command_of(record)}`", ""]
    lines += [record["note"], ""] if record["note"] else []
    lines += [line for picture in _pictures(record, pictures) for line in (picture, "")]
    lines += [record["facts"]["caption"], ""] if "caption" in record["facts"] else []
    facts = [list(pair) for pair in facts_of(record["facts"])]
    lines += [*markdown_table(["fact", "value"], facts), ""] if facts else []
    return "\n".join([*lines, f"Made with {origin(record)}.", ""])


def _pictures(record: Mapping[str, Any], folder: str) -> list[str]:
    """Links to a figure's pictures; of one in two formats, the sharper."""
    names = record.get("files", [])
    chosen = [n for n in names if n.endswith(".svg") or (n.endswith(".png") and f"{n[:-4]}.svg" not in names)]
    return [f"![{record['title']}]({folder}/{name})" for name in chosen]


def front_block(
    records: Sequence[Mapping[str, Any]], claims: Sequence[Mapping[str, Any]], page: str, pictures: str
) -> str:
    """The short form for a front page: verdicts, a few tables, pictures, and the way to the page."""
    parts = markdown_table(
        ["the paper's claim", "verdict here"], [[c["claim"], c["verdict"]] for c in claims]
    )
    for record in records:
        parts += ["", f"**{heading(record)}**"]
        for setting in record["settings"]:
            parts += ["", *numbers_table(setting)]
        parts += [line for picture in _pictures(record, pictures) for line in ("", picture)]
        parts += ["", f"Made with {origin(record)}."]
    return "\n".join([*parts, "", f"All results, with tests and explanations: [{page}]({page})."])


def put_between(text: str, block: str) -> str:
    r"""The text with ``block`` in place of what stands between the markers.

    >>> put_between("a <!-- results:begin --> old <!-- results:end --> b", "new")
    'a <!-- results:begin -->\nnew\n<!-- results:end --> b'
    """
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"the file needs the lines {BEGIN} and {END} once each")
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{block}\n{END}{rest.partition(END)[2]}"
