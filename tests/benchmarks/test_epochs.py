"""The command that races an epoch of ours against a loop by hand."""

import json
from pathlib import Path

from benchmarks.__main__ import app
from benchmarks.epochs import insert_section, kept_section, take_turns
from typer.testing import CliRunner


def test_every_contender_takes_every_turn() -> None:
    taken = []

    def steps(name: str):  # type: ignore[no-untyped-def]
        while True:
            taken.append(name)
            yield

    found = take_turns({name: steps(name) for name in "ab"}, 5, "wall")
    assert set(found) == {"a", "b"}
    assert taken.count("a") == taken.count("b") == 6  # the first step is not timed


def test_records_and_the_section_of_the_page(tmp_path: Path) -> None:
    page, out = tmp_path / "costs.md", tmp_path / "epochs.json"
    page.write_text("# Costs\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["epochs", "--quick", "--out", str(out), "--page", str(page)])
    assert result.exit_code == 0, result.output
    records = json.loads(out.read_text(encoding="utf-8"))["records"]
    pairs = {(row["size"].split(",")[0], row["contender"], row["peer"]) for row in records}
    assert ("ResNet-8", "ours, erm", "by hand") in pairs
    assert ("ResNet-8", "ours, sk-mixup with a bank every 10 epochs", "ours, mixup") in pairs
    assert ("Airfoil's FCN3", "ten seeds together", "one seed") in pairs
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Costs\n\n")
    assert text.count("\n| ") == 2 + len(records)


def test_a_new_page_keeps_the_section() -> None:
    page = insert_section("old costs", "the epochs")
    assert "old costs" not in kept_section(page)
    assert kept_section(insert_section("new costs" + kept_section(page), "the epochs")) == kept_section(page)
    assert kept_section("no section") == ""
