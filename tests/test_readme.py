"""The README's snippets run, in order, as one program."""

import re

import pytest
import torch

from helpers import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)


def test_readme_speaks_of_the_package() -> None:
    assert TEXT.startswith("# tailormix")
    assert TEXT.count("```") % 2 == 0


def test_snippets_run(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One name space for all blocks, since later ones go on from earlier ones."""
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    space: dict[str, object] = {"__name__": "readme"}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"README.md, python block {number}", "exec"), space)
    assert "__builtins__" in space or not BLOCKS
