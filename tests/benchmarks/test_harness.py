"""Races, records and tables; and a quick pass of the benchmarks, whose figures nobody looks at here."""

import json
from pathlib import Path

import pytest
from benchmarks.__main__ import app
from benchmarks.harness import CLOCKS, Timing, race, record
from typer.testing import CliRunner


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_race_times_everybody(clock: str) -> None:
    calls: list[str] = []
    contenders = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    found = race(contenders, seconds=1e-6, clock=clock)
    assert calls.count("a") == calls.count("b") >= 5 * 4  # turns of one untimed call and three timed ones
    assert all(0 <= timing.best <= timing.median for timing in found.values())


def test_records_compare_with_a_peer_and_a_target() -> None:
    """5 ms against 2 ms: 2.5 times its time, 0.4 times as fast."""
    timings = {"ours": Timing(5e-3, 6e-3), "peer": Timing(2e-3, 2e-3)}
    made = [
        record("it", "n = 1", "ours", "peer", timings, **target)
        for target in ({"at_most": 2.6}, {"at_most": 2.4}, {"at_least": 0.3}, {"at_least": 0.5}, {})
    ]
    assert [row.ratio for row in made] == [pytest.approx(2.5)] * 5
    assert [row.met for row in made] == [True, False, True, False, None]


def test_a_quick_pass_shows_and_writes_its_records(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["speed", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    said = done.stdout
    assert all(target in said for target in ("≤ 1.02×", "≤ 0.02×", "≤ 1.6×", "≤ 1.3×", "≥ 8×", "≥ 25×"))
    results = json.loads((tmp_path / "speed.json").read_text(encoding="utf-8"))
    assert results["settings"]["quick"] is True
    assert results["settings"]["threads"] == 1
    names = {"own work in a step", "batch form", "warp", "metrics"}
    assert {row["benchmark"] for row in results["records"]} == names
    assert all(row["best"] > 0 and row["ratio"] > 0 for row in results["records"])
    assert [path.name for path in tmp_path.iterdir()] == ["speed.json"]
