"""The page of all results: claims with their verdicts, tables, figures. The same records, the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .result_markdown import command_of, markdown_table, numbers_table, table_block
from .result_text import LEGEND, facts_of, heading, origin, p_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
