"""The demo runs from a fresh process, and its page and picture are complete."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"
METHODS = ("ERM", "Mixup", "SK Mixup", "SK Mixup, unsquared")
NUMBERS = 6  # accuracy, ECE and NLL, on test points and on fresh ones


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.labels: list[str | None] = []
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, _: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if values.get("role") == "img":
            self.labels.append(values.get("aria-label"))
        self.addresses += [str(values[key]) for key in ("src", "href", "xlink:href") if values.get(key)]


def test_demo_is_complete(tmp_path: Path) -> None:
    picture = tmp_path / "images" / "demo.png"
    options = ["--out", str(tmp_path), "--epochs", "20", "--jobs", "1", "--png", str(picture)]
    command = [sys.executable, str(DEMO), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    check_table([line for line in done.stdout.splitlines() if line.split()[:1] in (["Moons"], ["Circles"])])
    check_page((tmp_path / "index.html").read_text(encoding="utf-8"))
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 200_000


def check_table(rows: list[str]) -> None:
    """Every method on both problems, with numbers that can be what they are called."""
    names = [re.sub(r"\s+[\d.].*", "", row.split(maxsplit=1)[1]) for row in rows]
    assert names == list(METHODS) * 2
    for row in rows:
        values = [float(value) for value in row.split()[-NUMBERS:]]
        for accuracy, ece, nll in (values[:3], values[3:]):
            assert 0 <= accuracy <= 100
            assert 0 <= ece <= 100
            assert 0 < nll < 5


def check_page(text: str) -> None:
    """Every picture is there with a text for those who cannot see it, and nothing comes from elsewhere."""
    page = Page(text)
    panels = [
        f"Decision frontier and confidence of {m} on {d}" for d in ("Moons", "Circles") for m in METHODS
    ]
    assert page.labels[: len(panels)] == panels
    assert [str(label).split()[0] for label in page.labels[len(panels) :]] == ["Heat", "Accuracy"]
    assert page.addresses
    assert all(address.startswith(("#", "data:")) for address in page.addresses)
    assert "@import" not in text
