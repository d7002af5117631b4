"""The page in a real browser: no errors, tables sort, pictures have size and text, nothing sticks out."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sharing import made_once
from support_runs import change, make_run
from tailormix.reports.runs.groups import problems_of
from tailormix.reports.runs.reading import read_runs
from tailormix.reports.runs.report_page import report_page

CHROMIUM = shutil.which("chromium")
WIDE, NARROW = 1280, 390
NAMES = ("airplane", "automobile", "a class with a long name", "cat", "deer", "dog", "frog")
#: asks both copies of the page, once they are there, and writes what it found into the outer document
PROBE = """
const order = (page, column) => [...page.querySelector("table.sortable").tBodies[0].rows]
  .map(row => row.cells[column].dataset.value);
const state = page => [...page.querySelector("table.sortable").tHead.rows[0].cells]
  .map(head => head.getAttribute("aria-sort"));
addEventListener("load", () => {
  const [wide, narrow] = [...document.querySelectorAll("iframe")].map(frame => frame.contentDocument);
  const button = wide.querySelectorAll("table.sortable thead button")[2];
  const found = {before: order(wide, 2), clicks: []};
  for (let click = 0; click < 2; click++) {
    button.click();
    const states = state(wide);
    found.clicks.push({order: order(wide, 2), labels: order(wide, 0), state: states[2], others: states});
  }
  button.focus();
  found.focused = wide.activeElement === button;
  found.pictures = [...wide.querySelectorAll("[role=img]")].map(picture => {
    const box = picture.querySelector("svg").getBoundingClientRect();
    return [box.width, box.height, picture.getAttribute("aria-label")];
  });
  wide.querySelectorAll("details").forEach(each => { each.open = true; });
  found.sideways = [...wide.querySelectorAll(".scroll")].filter(box => box.scrollWidth > box.clientWidth)
    .map(box => box.getAttribute("aria-label"));
  found.widths = [wide, narrow].map(page => page.documentElement.scrollWidth);
  found.narrow = [...narrow.querySelectorAll("[role=img] svg")].map(svg => svg.getBoundingClientRect().right);
  found.scrolling = [...narrow.querySelectorAll(".scroll")].some(box => box.scrollWidth > box.clientWidth);
  document.body.textContent = "";
  document.body.append(Object.assign(document.createElement("pre"), {textContent: JSON.stringify(found)}));
});
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """What the probe found, and what the browser said on its console."""
    if CHROMIUM is None:
        pytest.skip("needs chromium (apt install chromium)")
    folder = made_once(tmp_path_factory, "seen", look_at_a_report)
    return json.loads((folder / "found.json").read_text()), (folder / "console").read_text()


def look_at_a_report(root: Path) -> None:
    folder = root / "runs"
    for number, method in enumerate(("erm", "mixup", "sk-mixup")):
        for seed in range(2):
            scale = (2.0, 4.0, 1.0)[number]
            make_run(folder / method / str(seed), method, seed, scale=scale, class_names=NAMES)
    change(make_run(folder / "none", "two-beta"), test={"before": {"accuracy": 0.5}}, temperature=None)
    make_run(folder / "regression", task="regression")
    page = html.escape(report_page(problems_of(read_runs([folder])[0])))
    frames = "".join(f'<iframe width="{w}" height="900" srcdoc="{page}"></iframe>' for w in (WIDE, NARROW))
    outer = root / "outer.html"
    outer.write_text(f"<!doctype html><body>{frames}<script>{PROBE}</script></body>", encoding="utf-8")
    found, console = look(outer, root / "profile")
    (root / "found.json").write_text(json.dumps(found))
    (root / "console").write_text(console)


def look(page: Path, profile: Path) -> tuple[dict[str, Any], str]:
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    command += ["--disable-dev-shm-usage", "--no-first-run", "--enable-logging=stderr", "--log-level=0"]
    command += ["--virtual-time-budget=20000", "--timeout=120000", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240)
    found = re.search(r"<pre>(.*?)</pre>", done.stdout, flags=re.DOTALL)
    assert found, done.stdout[-2000:]
    return json.loads(html.unescape(found[1])), done.stderr


def test_the_console_is_silent(seen) -> None:
    assert [line for line in seen[1].splitlines() if "CONSOLE" in line] == []


def test_a_click_sorts_and_another_turns_round(seen) -> None:
    """By ECE: three groups with a value, and one without, which is always last."""
    found, _ = seen
    up, down = found["clicks"]
    values = [float(value) for value in found["before"] if value]
    assert len(values) == 3
    assert [float(value) for value in up["order"][:3]] == sorted(values)
    assert [float(value) for value in down["order"][:3]] == sorted(values, reverse=True)
    assert up["labels"][-1] == down["labels"][-1] == "Two-Beta"
    assert up["labels"][:3] == down["labels"][2::-1]
    assert (up["state"], down["state"]) == ("ascending", "descending")
    assert set(down["others"]) == {"none", "descending"}
    assert found["focused"]  # a button: the keyboard reaches and presses it


def test_every_picture_has_size_and_text(seen) -> None:
    pictures = seen[0]["pictures"]
    assert len(pictures) > 15
    for width, height, label in pictures:
        assert width > 100
        assert height > 100
        assert len(label) > 20


def test_no_page_scrolls_sideways_and_on_a_phone_only_tables_do(seen) -> None:
    found, _ = seen
    wide, narrow = found["widths"]
    assert wide <= WIDE
    assert narrow <= NARROW
    assert max(found["narrow"]) <= NARROW
    assert found["sideways"] == []  # on a wide screen nothing scrolls at all, however much is unfolded
    assert found["scrolling"]  # wide tables scroll in boxes of their own
