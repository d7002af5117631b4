"""The site builds without a warning, opens without a network, and tells what the code tells."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
import torch

from docs.pages import name_of, pages
from helpers import ROOT
from sharing import made_once
from tailormix import METHODS, build_method

if TYPE_CHECKING:
    from pathlib import Path

PACKAGES = (
    "tailormix",
    *(f"tailormix.{name}" for name in ("pairs", "coefficients", "interpolation", "objectives")),
    *(f"tailormix.{name}" for name in ("losses", "metrics", "calibration", "models", "data")),
    *(f"tailormix.{name}" for name in ("training", "experiments", "reports", "integrations.sklearn")),
)
FETCHING = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as ``make docs`` builds it."""
    return made_once(tmp_path_factory, "site", build)


def build(folder: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    settings = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    result = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


class Fetched(HTMLParser):
    """Collects what a browser loads by itself when it opens a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the address, if the tag has one."""
        address = dict(attrs).get(FETCHING.get(tag, ""))
        if address and dict(attrs).get("rel") not in ("canonical", "prev", "next"):
            self.addresses.append(address)


def test_every_page_is_there_and_fetches_nothing_from_elsewhere(site: Path) -> None:
    built = [path for path in site.rglob("*.html") if path.name != "404.html"]
    written = [page for page in pages() if name_of(page).startswith("docs/")]
    assert len(built) == len(written)
    for path in built:
        reader = Fetched()
        reader.feed(path.read_text(encoding="utf-8"))
        assert reader.addresses
        for address in reader.addresses:
            assert not re.match(r"(https?:)?//", address), (path, address)
            assert (path.parent / address.split("?")[0].split("#")[0]).exists(), (path, address)


def test_styles_fetch_nothing_from_elsewhere(site: Path) -> None:
    sheets = list(site.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet


@pytest.mark.parametrize("package", PACKAGES)
def test_the_reference_holds_every_public_name(package: str) -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.md"))
    shown = set(re.findall(r"^::: (\S+)$", text, flags=re.MULTILINE))
    for name in set(importlib.import_module(package).__all__) - {"__version__"}:
        assert any(path.startswith("tailormix.") and path.endswith(f".{name}") for path in shown), name


def test_the_table_of_methods_is_the_list_of_methods() -> None:
    text = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| ([^|]+) \| (yes|no) \| (\w+) \|$", text, flags=re.MULTILINE)
    assert [(name, passes) for name, passes, *_ in rows] == [(n, e.passes) for n, e in METHODS.items()]
    for name, _, batch_form, tasks in rows:
        assert build_method(name).batch_form is (batch_form == "yes"), name
        assert tasks_of(name) == tasks, name


def tasks_of(name: str) -> str:
    """The tasks that a method takes, by trying."""
    images = "cutmix" in name
    x = torch.randn(6, *((1, 4, 4) if images else (4,)))
    takes = []
    for task, y, outputs in (
        ("classification", torch.arange(6) % 3, 3),
        ("regression", torch.randn(6, 1), 1),
    ):
        stages = [torch.nn.Flatten(), torch.nn.Linear(16 if images else 4, 4), torch.nn.Linear(4, outputs)]
        options = {"layers": ("1",)} if name in ("mit-a", "manifold-mixup", "sk-manifold-mixup") else {}
        try:
            build_method(name, **options).fit(x, y).loss(torch.nn.Sequential(*stages), x, y)
        except ValueError:
            continue
        takes.append(task)
    return "both" if len(takes) == 2 else takes[0]


def test_the_paper_map_names_files_that_exist() -> None:
    text = (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8")
    paths = set(re.findall(r"`([\w./-]+(?:\.py|\.toml|/))`", text))
    assert len(paths) > 40
    for path in paths:
        assert any((root / path).exists() for root in (ROOT, ROOT / "src" / "tailormix")), path


def test_links_of_readme_and_contributing_lead_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert target.startswith("http") or (ROOT / target).exists(), (page, target)
