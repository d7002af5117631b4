"""What features are made of: files of texts and folders of images, and what is refused before encoding."""

from pathlib import Path

import pytest
import torch
from PIL import Image

from tailormix.data import DataError
from tailormix.experiments.features.sources import Source, read_source, with_corruptions

COLUMNS = {"text": "text", "label": None}


def read(path: Path, test_limit: int | None = None) -> Source:
    return read_source(str(path), options={}, columns=COLUMNS, size=4, test_limit=test_limit)


def table(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(["text,label,part", *rows]))
    return path


def grey(path: Path, value: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 4), (value,) * 3).save(path)


def test_a_folder_of_tests_is_limited(tmp_path: Path) -> None:
    for number in range(3):
        for name, value in (("blue", 10), ("red", 20)):
            grey(tmp_path / "train" / name / f"{number}.png", value + number)
    for number in range(10):
        for name, value in (("blue", 100), ("red", 200)):
            grey(tmp_path / "test" / name / f"{number}.png", value + number)
    whole, source = read(tmp_path), read(tmp_path, test_limit=4)
    assert [(part.name, len(part)) for part in whole.parts] == [("train", 6), ("test", 20)]
    train, test = source.parts
    assert (len(train), len(test)) == (6, 4)
    assert torch.bincount(test.labels).tolist() == [2, 2]
    rows = test.ids - 6
    assert torch.equal(test.labels, whole.parts[1].labels[rows])
    every = torch.arange(20)
    assert torch.equal(test.fetch(torch.arange(4), 0), whole.parts[1].fetch(every, 0)[rows])
    assert read(tmp_path, test_limit=50).parts[1].ids.tolist() == list(range(6, 26))
    corrupted = with_corruptions(source, ["brightness"], [1], None)
    assert corrupted.parts[2].ids.tolist() == test.ids.tolist()
    assert corrupted.sha256 == source.sha256 == whole.sha256


def test_what_was_read_has_a_checksum(tmp_path: Path) -> None:
    rows = ["abc,one,train", "xyz,two,train", "abx,one,odd", "abz,one,odd"]
    path = tmp_path / "mail.csv"
    first = read(table(path, *rows)).sha256
    others = [
        ["abd,one,train", *rows[1:]],
        ["abc,two,train", "xyz,one,train", *rows[2:]],
        [*rows[:2], "abx,one,even", "abz,one,even"],
        [rows[1], rows[0], *rows[2:]],
    ]
    assert first is not None
    assert len({first, *(read(table(path, *other)).sha256 for other in others)}) == 5
    assert read(table(path, *rows)).sha256 == first


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("odd/x", "expected a name of letters, digits, spaces and . _ + - (60 at most) in the column 'part'"),
        ("../odd", "expected a name of letters"),
        (".hidden", "expected a name of letters"),
        ("o" * 61, "expected a name of letters"),
        ("Test", "expected 'test' in the column 'part'"),
        ("TRAIN", "expected 'train' in the column 'part'"),
        ("New", "expected 'new' in the column 'part'"),
        ("Odd", "expected 'odd' in the column 'part'"),
    ],
)
def test_names_of_parts_that_are_refused(tmp_path: Path, part: str, told: str) -> None:
    path = table(tmp_path / "mail.csv", "abc,one,train", "xyz,two,train", "xxx,one,odd", f"zzz,one,{part}")
    with pytest.raises(DataError) as caught:
        read(path)
    assert str(caught.value).startswith(f"cannot use {path}: {told}")
    assert str(caught.value).endswith(f", got {part!r}")


def test_names_of_parts_that_are_taken(tmp_path: Path) -> None:
    names = ["test", "gaussian-noise-3", "my part", "v1.2_b", "2024", "übrig"]
    rows = [f"abc,one,{name}" for name in names]
    source = read(table(tmp_path / "mail.csv", "abc,one,train", "xyz,two,train", *rows))
    assert [part.name for part in source.parts] == ["train", *names]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            ["abc,one,train", "bcd,,train", "xyz,two,train"],
            "expected a class in every row of the part 'train', got 1 of 3 rows without",
        ),
        (
            ["abc,one,train", "xyz,two,train", "zzz,,test"],
            "expected a class in every row of the part 'test', got 1 of 1 rows without",
        ),
        (
            ["abc,one,train", "xyz,two,train", "zzz,,odd", "zzz,one,odd"],
            "expected a class in every row of the part 'odd', got 1 of 2 rows without",
        ),
        (
            ["abc,one,train", "bcd,one,train", "xyz,two,test"],
            "expected two classes or more in the part 'train', got 'one' alone",
        ),
    ],
)
def test_classes_that_training_cannot_use(tmp_path: Path, rows: list[str], told: str) -> None:
    path = table(tmp_path / "mail.csv", *rows)
    with pytest.raises(DataError) as caught:
        read(path)
    assert str(caught.value) == f"cannot use {path}: {told}"


def test_rows_without_a_class_that_are_taken(tmp_path: Path) -> None:
    path = table(tmp_path / "mail.csv", "abc,one,", "xyz,two,", "zzz,,", "yyy,,odd")
    found = {part.name: part.labels.tolist() for part in read(path).parts}
    assert found == {"train": [0, 1], "new": [-1], "odd": [-1]}
    path = table(tmp_path / "new.csv", "abc,,test", "xyz,,test")  # no training rows: to predict them
    assert [part.labels.tolist() for part in read(path).parts] == [[-1, -1]]


def test_images_of_one_class(tmp_path: Path) -> None:
    grey(tmp_path / "blue" / "0.png", 10)
    (tmp_path / "red").mkdir()
    with pytest.raises(DataError, match="two classes or more in the part 'train', got 'blue' alone"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("name", "contents", "told"),
    [
        ("new.txt", "caf\u00e9\n".encode("latin-1"), "expected text in UTF-8, got byte 0xe9 at position 3"),
        ("new.csv", "text,label\nabc,a\n".encode("utf-16-be"), "expected text, got a binary file"),
    ],
)
def test_an_encoding_that_cannot_be_read(tmp_path: Path, name: str, contents: bytes, told: str) -> None:
    path = tmp_path / name
    path.write_bytes(contents)
    with pytest.raises(DataError) as caught:
        read(path)
    assert str(caught.value).startswith(f"cannot use {path}: {told}")
