"""Files appear whole or not at all."""

from pathlib import Path

import pytest

from tailormix.atomic import write_atomically


def test_errors_name_the_file_that_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "missing" / "page.html", tmp_path / "file" / "page.html"):
        with pytest.raises(OSError, match=r"page\.html") as raised:
            write_atomically(path, "x")
        assert raised.value.filename == str(path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
