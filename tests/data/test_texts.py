"""Texts: small made files of the published formats, files of the user, and the published ones."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tailormix.data import DataError, load
from tailormix.data.files.texts import read_banking77, read_clinc150, read_own_texts

CLINC = {
    "train": [["call me a cab", "taxi"], ["pay my bill", "bills"]],
    "val": [["a taxi please", "taxi"]],
    "test": [["bill, pay", "bills"]],
    "oos_train": [["never read", "oos"]],
    "oos_val": [["never read", "oos"]],
    "oos_test": [["why is the sky blue", "oos"]],
}


def test_clinc150(tmp_path: Path) -> None:
    (tmp_path / "clinc150").mkdir()
    (tmp_path / "clinc150" / "data_full.json").write_text(json.dumps(CLINC))
    found = read_clinc150(tmp_path)
    assert found.class_names == ("bills", "taxi")
    assert found.parts == ("train", "train", "validation", "test", "unknown")
    assert found.labels.tolist() == [1, 0, 1, 0, -1]
    assert "never read" not in found.texts
    with pytest.raises(ValueError, match=r"clinc150 holds texts.*tailormix features clinc150 --model FOLDER"):
        load("clinc150", root=tmp_path)


@pytest.mark.parametrize("contents", ["{", "[]", '{"train": [["a"]]}', '{"train": []}'])
def test_damaged_clinc150(tmp_path: Path, contents: str) -> None:
    (tmp_path / "clinc150").mkdir()
    (tmp_path / "clinc150" / "data_full.json").write_text(contents)
    with pytest.raises(DataError, match=r"wrong file .*data_full\.json: expected lists of texts named train"):
        read_clinc150(tmp_path)


def test_banking77(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="tailormix data get banking77"):
        load("banking77", root=tmp_path)
    (tmp_path / "banking77").mkdir()
    (tmp_path / "banking77" / "train.csv").write_text(
        'text,category\n"Hello, my card?",card\n"two\nlines",top_up\n'
    )
    (tmp_path / "banking77" / "test.csv").write_text("text,category\nTop it up,top_up\n")
    found = read_banking77(tmp_path)
    assert found.texts == ("Hello, my card?", "two\nlines", "Top it up")
    assert found.labels.tolist() == [0, 1, 1]
    assert found.parts == ("train", "train", "test")
    (tmp_path / "banking77" / "test.csv").write_text("text\nTop it up\n")
    with pytest.raises(DataError, match="expected columns text and category, got text"):
        read_banking77(tmp_path)


def test_texts_of_the_user(tmp_path: Path) -> None:
    table = tmp_path / "mail.csv"
    table.write_text("id,body,kind,part\n1,hello,ham,\n2,buy now,spam,test\n3,what,,\n")
    found = read_own_texts(table, text="body", label="kind")
    assert found.texts == ("hello", "buy now", "what")
    assert (found.labels.tolist(), found.class_names) == ([0, 1, -1], ("ham", "spam"))
    assert found.parts == ("train", "test", "new")
    with pytest.raises(ValueError, match=r"unknown column of mail\.csv 'text'"):
        read_own_texts(table)
    with pytest.raises(ValueError, match=r"unknown column of mail\.csv 'kinds'; did you mean 'kind'"):
        read_own_texts(table, text="body", label="kinds")
    assert read_own_texts(table, text="body").parts == ("new", "test", "new")
    table.write_text("text,label\n,ham\n")
    with pytest.raises(DataError, match="line 2, column 'text': expected a text in every row"):
        read_own_texts(table)
    lines = tmp_path / "new.txt"
    lines.write_text("one, two\nNA\n")
    assert read_own_texts(lines).texts == ("one, two", "NA")
    assert read_own_texts(lines).parts == ("new", "new")
    lines.write_text("one\n\nthree\n")
    with pytest.raises(DataError, match="expected a text in every line, got an empty line 2"):
        read_own_texts(lines)


def test_only_empty_cells_of_texts_are_missing(tmp_path: Path) -> None:
    """Words that mean a missing number elsewhere are texts and classes like others; one column will do."""
    table = tmp_path / "mail.csv"
    table.write_text("text,label\nNone,yes\nwhat,n/a\nn/a,\nno,none\n")
    found = read_own_texts(table)
    assert found.texts == ("None", "what", "n/a", "no")
    assert found.class_names == ("n/a", "none", "yes")
    assert found.labels.tolist() == [2, 0, -1, 1]
    table.write_text('text\nhello\n"NA"\n')
    assert read_own_texts(table).texts == ("hello", "NA")
    table.write_text('text\nhello\n""\nwhat\n\n')
    with pytest.raises(DataError, match="line 3, column 'text': expected a text in every row, got no value"):
        read_own_texts(table)
    table.write_text("text,label\n" + "hello,1\nwhat,2.5\n" * 20 + "no,unsure\n")
    assert read_own_texts(table).class_names == ("1", "2.5", "unsure")


def test_published_texts(real: Callable[[str], Path]) -> None:
    clinc, banking = read_clinc150(real("clinc150")), read_banking77(real("banking77"))
    assert Counter(clinc.parts) == {"train": 15_000, "validation": 3000, "test": 4500, "unknown": 1000}
    assert (len(clinc.class_names), len(banking.class_names)) == (150, 77)
    assert Counter(banking.parts) == {"train": 10_003, "test": 3080}
    assert min(banking.labels) == 0
