"""``tailormix bench`` from outside."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from tailormix.benching.page import cost_page
from tailormix.cli.bench import bench
from tailormix.cli.main import app as whole

DOCS = Path(__file__).parents[2] / "docs"
app = typer.Typer()
app.command()(bench)
SOME = ["--quick", "--batch", "6", "--methods", "sk-mixup,mit-a,rankmixup,c-mixup", "--device", "cpu"]


def call(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "160"})


def said(text: str) -> str:
    return " ".join(text.replace("│", " ").split())


def test_tables_and_claims(tmp_path: Path) -> None:
    done = call(*SOME, "--out", str(tmp_path / "bench.json"), "--page", str(tmp_path / "bench.md"))
    assert done.exit_code == 0, done.stderr
    assert "classification: a step of resnet8, batch 6 × 3 × 8 × 8" in done.stdout
    assert "regression: a step of lstnet-skip" in done.stdout
    assert "SK Mixup is about 3× faster than RankMixup" in done.stdout
    found = json.loads((tmp_path / "bench.json").read_text())
    assert [row["method"] for row in found["classification"]] == [
        "erm",
        "mixup",
        "rankmixup",
        "mit-a",
        "sk-mixup",
    ]
    assert [row["method"] for row in found["regression"]] == ["erm", "mixup", "c-mixup", "sk-mixup"]
    assert len(found["claims"]) == 7
    assert all(isinstance(claim["agrees"], bool) for claim in found["claims"])
    assert found["settings"]["quick"] is True
    assert found["settings"]["memory"] == "saved for the gradient"
    page = (tmp_path / "bench.md").read_text(encoding="utf-8")
    assert page == cost_page(found)
    assert "## Classification: a step of resnet8, batch 6×3×8×8" in page
    assert "| SK Mixup is about 3× faster than RankMixup | 3× | 2.81× |" in page


def test_the_page_of_costs_is_that_of_the_committed_figures() -> None:
    found = json.loads((DOCS / "costs.json").read_text(encoding="utf-8"))
    assert (DOCS / "costs.md").read_text(encoding="utf-8") == cost_page(found)
    assert found["settings"]["quick"] is False


def test_json_for_machines() -> None:
    done = call("--quick", "--methods", "erm", "--clock", "cpu", "--json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["claims"] == []
    assert found["settings"]["clock"] == "cpu"
    assert found["classification"][0]["samples with gradient"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--methods", "mixp"], "did you mean 'mixup'"),
        (["--model", "resnet9"], "did you mean 'resnet8'"),
        (["--model", "mlp", "--device", "tpu"], "unknown device 'tpu'"),
        (["--clock", "sun"], "unknown clock 'sun'"),
        (["--out", "nowhere/bench.json", "--quick"], "folder nowhere does not exist"),
    ],
)
def test_wrong_use_is_two(arguments: list[str], words: str) -> None:
    done = call(*arguments)
    assert done.exit_code == 2
    assert words in said(done.stderr)


def test_help_has_an_example() -> None:
    done = CliRunner().invoke(whole, ["bench", "--help"])
    assert done.exit_code == 0
    assert "Example: tailormix bench" in said(done.stdout)
