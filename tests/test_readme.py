"""The snippets of README and CONTRIBUTING run, in order, as one program each."""

import re

import pytest
import torch

from helpers import ROOT

PAGES = ("README.md", "CONTRIBUTING.md")


@pytest.mark.parametrize("page", PAGES)
def test_snippets_run(page: str, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One name space for all blocks, since later ones go on from earlier ones."""
    blocks = re.findall(
        r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    assert blocks
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    space: dict[str, object] = {"__name__": page}
    for number, block in enumerate(blocks):
        exec(compile(block, f"{page}, python block {number}", "exec"), space)


def test_every_code_fence_is_closed() -> None:
    for page in PAGES:
        assert (ROOT / page).read_text(encoding="utf-8").count("```") % 2 == 0, page


def test_the_readme_links_to_files_that_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("http") or (ROOT / target).exists(), target
