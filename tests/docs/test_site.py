"""The site builds without a warning, opens without a network, and says what the code says."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
import torch
import typer

from docs.pages import name_of, pages
from helpers import ROOT
from sharing import made_once
from tailormix import METHODS, build_method
from tailormix.cli.main import app

if TYPE_CHECKING:
    from pathlib import Path

REFERENCE = {
    "methods": ["tailormix"],
    "components": [f"tailormix.{name}" for name in ("components", "objectives")],
    "training": ["tailormix.training", "tailormix.experiments"],
    "integrations": ["tailormix.integrations.sklearn"],
    **{
        name: [f"tailormix.{name}"]
        for name in ("calibration", "data", "losses", "metrics", "models", "reports")
    },
}
MADE = {"mine.toml"}  # files that a page makes
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
    assert len(built) == len([page for page in pages() if name_of(page).startswith("docs/")])
    for path in built:
        reader = Fetched()
        reader.feed(path.read_text(encoding="utf-8"))
        assert reader.addresses
        for address in reader.addresses:
            assert not re.match(r"(https?:)?//", address), (path, address)
            assert (path.parent / address.split("?")[0].split("#")[0]).exists(), (path, address)
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet


@pytest.mark.parametrize("page", REFERENCE)
def test_the_reference_shows_every_public_name(page: str, site: Path) -> None:
    """Mathematics has a page beside the methods, but for that all names of a package are on one."""
    files = [page] if page != "methods" else ["methods", "mathematics"]
    text = "".join((site / "api" / f"{file}.html").read_text(encoding="utf-8") for file in files)
    for package in REFERENCE[page]:
        module = importlib.import_module(package)
        for name in set(getattr(module, "__all__", ())) - {"__version__"}:
            assert re.search(rf"\b{name}\b", text), f"{package}.{name} is not on api/{page}.md"


def test_the_table_of_methods_is_true() -> None:
    text = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| ([^|]+) \| (yes|no) \| (\w+) \|$", text, flags=re.MULTILINE)
    assert len(rows) > 20
    for name, passes, batch_form, tasks in rows:
        assert METHODS[name].passes == passes, name
        assert build_method(name).batch_form is (batch_form == "yes"), name
        assert tasks_of(name) == tasks, name


def test_the_page_of_the_command_line_has_every_command_and_every_variable() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    command = typer.main.get_command(app)
    inner = {f"data {name}" for name in command.commands["data"].commands}
    for name in {*command.commands, *inner} - {"data"}:
        assert f"tailormix {name} " in text or f"tailormix {name}\n" in text, name
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    for variable in set(re.findall(r"\bTAILORMIX_[A-Z]+\b", source)) - {"TAILORMIX_ENGINE"}:
        assert f"`{variable}`" in text, variable


def tasks_of(name: str) -> str:
    """The tasks that a method takes, by trying."""
    images = "cutmix" in name
    x = torch.randn(6, *((1, 4, 4) if images else (4,)))
    options = {"layers": ("1",)} if name in ("mit-a", "manifold-mixup", "sk-manifold-mixup") else {}
    takes = []
    for task, y, outputs in (
        ("classification", torch.arange(6) % 3, 3),
        ("regression", torch.randn(6, 1), 1),
    ):
        stages = [torch.nn.Flatten(), torch.nn.Linear(16 if images else 4, 4), torch.nn.Linear(4, outputs)]
        try:
            build_method(name, **options).fit(x, y).loss(torch.nn.Sequential(*stages), x, y)
        except ValueError:
            continue
        takes.append(task)
    return "both" if len(takes) == 2 else takes[0]


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_files_and_names_on_a_page_exist(page: Path) -> None:
    """`path/file.py` exists, `file.py` (`name`) defines that name, and `tailormix.a.b` can be imported."""
    text = page.read_text(encoding="utf-8")
    for path, names in re.findall(r"`([\w./-]+(?:\.py|\.toml|/))`(?: \(((?:`[^`]+`(?:, )?)+)\))?", text):
        found = [root / path for root in (ROOT, ROOT / "src" / "tailormix") if (root / path).exists()]
        assert found or path in MADE, f"{name_of(page)} names {path}"
        for name in re.findall(r"`(?:\w+\.)?(\w+)[^`]*`", names):
            defined = rf"\b(def|class) {name}\b|\b{name}: "
            assert re.search(defined, found[0].read_text(encoding="utf-8")), f"{path} has no {name}"
    for name in re.findall(r"`(tailormix(?:\.\w+)+)", text):
        pkgutil.resolve_name(name)


def test_links_of_readme_and_contributing_lead_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert target.startswith("http") or (ROOT / target).exists(), (page, target)
