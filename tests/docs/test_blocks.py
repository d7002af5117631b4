"""Every code block on every page does what the page says."""

from __future__ import annotations

import contextlib
import inspect
import io
import pkgutil
import re
import warnings
from pathlib import Path

import pytest
import torch

from docs.command_lines import check, lines_of
from docs.pages import Block, blocks_of, name_of, pages, same
from docs.stand_ins import present
from tailormix.experiments import read
from tailormix.studies import read_study


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_blocks_run_in_order(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page share names and a folder, since later ones continue earlier ones."""
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    names: dict[str, object] = {"__name__": name_of(page)}
    printed = ""
    for block in blocks_of(page.read_text(encoding="utf-8"), name_of(page)):
        if block.language == "text":
            assert same(printed, block.text, block.tolerance), (block.place, printed)
        else:
            printed = run(block, names)


def run(block: Block, names: dict[str, object]) -> str:
    """Run a block; returns what it printed."""
    if block.source is not None:
        source = inspect.getsource(pkgutil.resolve_name(block.source))
        for line in block.text.splitlines():
            assert line.strip() in source, (block.place, line)
        return ""
    if (
        block.language == "toml"
    ):  # an experiment or a study, whose first line names its file for later commands
        path = Path(block.text.splitlines()[0].removeprefix("# "))
        path.write_text(block.text, encoding="utf-8")
        (read_study if "[rows." in block.text else read)(str(path))
        return ""
    if named := re.match(r"# (\w+\.py)\n", block.text):  # a file of the user
        Path(named[1]).write_text(block.text, encoding="utf-8")
        return ""
    if block.language == "console":
        return "".join(check(words, whole=block.whole) for words in lines_of(block.text))
    assert block.language == "python", f"{block.place}: no check for a block in {block.language!r}"
    output = io.StringIO()
    with contextlib.redirect_stdout(output), warnings.catch_warnings(), present(block.needs):
        if block.needs is not None:  # other libraries warn of one another
            warnings.simplefilter("ignore")
        exec(compile(block.text, block.place, "exec", dont_inherit=True), names)
    return output.getvalue()


def test_no_block_escapes() -> None:
    """Without a language, indented, behind tildes, or inside a list: all are found."""
    text = "```\na\n```\n\n    b\n\n~~~sh\nc\n~~~\n\n- d\n\n  ```python\n  e\n  ```\n"
    assert [block.language for block in blocks_of(text)] == ["", "", "sh", "python"]
    assert not any("<pre" in page.read_text(encoding="utf-8") for page in pages())


@pytest.mark.parametrize(
    "line",
    [
        "tailormix trian moons",
        "tailormix train moons --sead 1",
        "tailormix train moons --set epoch=1",
        "make tea",
        "pip install .[tea]",
        "rm x",
    ],
)
def test_a_wrong_command_line_fails(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception, match=r"trian|sead|epoch|tea|rm"):
        check(line.split())
