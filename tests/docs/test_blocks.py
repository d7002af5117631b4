"""Every code block on every page does what the page says."""

from __future__ import annotations

import contextlib
import io
import tomllib
import warnings
from pathlib import Path

import pytest
import torch

from docs.command_lines import check, lines_of
from docs.pages import LANGUAGES, Block, blocks_of, blocks_on, name_of, pages
from docs.printed import same
from docs.stand_ins import present
from tailormix.experiments.experiment import read


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_blocks_run_in_order(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One name space and one folder for a page, since later blocks go on from earlier ones."""
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    names: dict[str, object] = {"__name__": name_of(page)}
    printed = ""
    for block in blocks_on(page):
        assert block.language in LANGUAGES, f"{block.place}: a block in {block.language!r} escapes this test"
        if block.language == "text":
            assert same(printed, block.text, block.tolerance), (block.place, printed)
        else:
            printed = run(block, names)


def run(block: Block, names: dict[str, object]) -> str:
    """Run a block; what it printed."""
    if block.language == "toml":
        return toml(block)
    if block.language == "console":
        return "".join(map(check, lines_of(block.text)))
    code = compile(block.text, block.place, "exec", dont_inherit=True)
    output = io.StringIO()
    with contextlib.redirect_stdout(output), warnings.catch_warnings():
        if block.needs is not None:  # other libraries warn of one another
            warnings.simplefilter("ignore")
        with present(block.needs):
            exec(code, names)
    return output.getvalue()


def toml(block: Block) -> str:
    """An experiment file, which its comment in the first line names; command lines below can use it."""
    name = block.text.splitlines()[0].removeprefix("# ")
    tomllib.loads(block.text)
    Path(name).write_text(block.text, encoding="utf-8")
    read(name)
    return ""


def test_a_block_cannot_escape() -> None:
    """Without a language, indented, behind tildes, or inside a list: all are found."""
    text = "```\na\n```\n\n    b\n\n~~~sh\nc\n~~~\n\n- d\n\n  ```python\n  e\n  ```\n"
    assert [block.language for block in blocks_of(text)] == ["", "", "sh", "python"]
    assert not any("<pre" in page.read_text(encoding="utf-8") for page in pages())


def test_notes_belong_to_the_next_block_alone() -> None:
    text = "<!-- needs: nowhere.at.all -->\n```python\na\n```\n\n```python\nb\n```\n"
    first, second = blocks_of(text)
    assert (first.needs, second.needs) == ("nowhere.at.all", None)


@pytest.mark.parametrize(
    "line",
    ["tailormix trian moons", "tailormix train moons --sead 1", "make tea", "pip install .[tea]", "rm x"],
)
def test_a_wrong_command_line_fails(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception, match=r"trian|sead|tea|rm"):
        check(line.split())


def test_a_wrong_experiment_file_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="did you mean 'epochs'"):
        toml(Block("page", 1, "toml", '# x.toml\nepoch = 1\n[data]\nname = "moons"\n[model]\nname = "mlp"\n'))
