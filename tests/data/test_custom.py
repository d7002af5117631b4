"""Arrays and tables of the user."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tailormix.data import DataError, load


def saved(path: Path, **arrays: np.ndarray) -> Path:
    np.savez(path / "user.npz", **arrays)
    return path / "user.npz"


def test_npz_classes(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(3, 2, (100, 4))
    splits = load("npz", path=saved(tmp_path, x=x, y=np.arange(100) % 5))
    assert (splits.task, splits.num_classes, splits.input_shape) == ("classification", 5, (4,))
    assert [len(part) for part in (splits.train, splits.validation, splits.test)] == [70, 10, 20]
    assert torch.bincount(splits.test.targets).tolist() == [4] * 5
    torch.testing.assert_close(splits.train.inputs.mean(0), torch.zeros(4), atol=1e-6, rtol=0)
    torch.testing.assert_close(splits.train.inputs.std(0, correction=0), torch.ones(4))


@pytest.mark.parametrize("shape", [(60,), (60, 1), (60, 3)])
def test_npz_regression(tmp_path: Path, shape: tuple[int, ...]) -> None:
    y = np.random.default_rng(0).random(shape)
    splits = load("npz", path=saved(tmp_path, x=np.ones((60, 2, 3)), y=y))
    outputs = 1 if len(shape) == 1 else shape[1]
    assert (splits.task, splits.num_classes) == ("regression", None)
    assert (splits.outputs, splits.input_shape) == (outputs, (6,))
    centre, spread = splits.target_units
    torch.testing.assert_close(splits.train.targets.mean(0), torch.zeros(outputs), atol=1e-6, rtol=0)
    torch.testing.assert_close(splits.train.targets.std(0, correction=0), torch.ones(outputs))
    for split in (splits.train, splits.validation, splits.test):
        targets = split.targets.double() * spread + centre
        np.testing.assert_allclose(targets.numpy(), y.reshape(60, -1)[split.ids], rtol=1e-5)


def test_npz_images(tmp_path: Path) -> None:
    x = np.random.default_rng(0).integers(0, 256, (50, 3, 6, 6), dtype=np.uint8)
    splits = load("npz", path=saved(tmp_path, x=x, y=np.arange(50) % 2))
    batch, _ = splits.train.batch(torch.arange(len(splits.train)))
    assert batch.shape[1:] == splits.input_shape == (3, 6, 6)
    torch.testing.assert_close(batch.mean(dim=(0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(batch.std(dim=(0, 2, 3), correction=0), torch.ones(3))


def test_npz_images_for_training_can_be_augmented_and_nothing_else(tmp_path: Path) -> None:
    """One bright pixel in the middle of 16 x 16: crops move it by up to two pixels."""
    x = np.zeros((50, 1, 16, 16), dtype=np.uint8)
    x[:, :, 8, 8] = 200
    splits = load("npz", path=saved(tmp_path, x=x, y=np.arange(50) % 2), augment="crop")
    found = [
        part.batch(torch.arange(len(part)), torch.Generator().manual_seed(0))[0].flatten(1).argmax(1)
        for part in (splits.train, splits.validation, splits.test)
    ]
    train, *others = found
    assert {*(train // 16).tolist()} == {*(train % 16).tolist()} == {6, 7, 8, 9, 10}
    assert all((place == 8 * 16 + 8).all() for place in others)
    with pytest.raises(
        ValueError, match=r"augment is for images, and x of .*user\.npz holds float64 of 2 axes"
    ):
        load("npz", path=saved(tmp_path, x=np.ones((20, 1)), y=np.arange(20) % 2), augment=True)


def test_npz_truth_values_are_classes_and_whole_numbers_can_be_regression(tmp_path: Path) -> None:
    splits = load("npz", path=saved(tmp_path, x=np.ones((20, 1)), y=np.arange(20) % 2 == 0))
    assert (splits.task, splits.class_names) == ("classification", ("False", "True"))
    splits = load("npz", path=saved(tmp_path, x=np.ones((20, 1)), y=np.arange(20)), task="regression")
    assert (splits.task, splits.train.targets.dtype) == ("regression", torch.float32)


X, Y = np.ones((5, 2)), np.array([0, 0, 0, 1, 1])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": X}, "expected arrays named x and y"),
        ({"x": X, "y": np.zeros(4)}, r"expected x of shape \(n, ...\) and y of as many rows"),
        ({"x": np.ones(5), "y": np.zeros(5)}, r"expected x of shape \(n, ...\)"),
        ({"x": X * np.nan, "y": Y}, "array x: expected finite numbers, got nan in row 0, column 0"),
        ({"x": np.full((5, 2), "a"), "y": Y}, "expected x of real numbers"),
        ({"x": np.ones((5, 8, 8, 3), np.uint8), "y": Y}, r"shape \(n, channels, height, width\)"),
        ({"x": X, "y": np.zeros(5, int)}, "expected two classes or more, got one: 0"),
        (
            {"x": np.array([[object()]]), "y": np.zeros(1)},
            "expected plain arrays, got an array of Python obj",
        ),
    ],
)
def test_npz_bad_arrays(tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load("npz", path=saved(tmp_path, **arrays))


def table(tmp_path: Path, text: str) -> Path:
    (tmp_path / "user.csv").write_text(text)
    return tmp_path / "user.csv"


def test_table_words_are_classes(tmp_path: Path) -> None:
    rows = "\n".join(f"{'red' if k % 2 else 'blue'},{k},{k * k}" for k in range(40))
    splits = load("table", path=table(tmp_path, f"colour,a,b\n{rows}\n"), target="colour")
    assert (splits.class_names, splits.input_shape) == (("blue", "red"), (2,))
    assert (splits.train.targets == splits.train.ids % 2).all()
    assert splits.notes == ()


def test_table_last_column_is_the_default_target(tmp_path: Path) -> None:
    rows = "\n".join(f"{k},{k / 8}" for k in range(40))
    splits = load("table", path=table(tmp_path, f"a,b\n{rows}\n"), validation=0.25, test=0.25)
    assert splits.task == "regression"
    assert [len(part) for part in (splits.train, splits.validation, splits.test)] == [20, 10, 10]
    centre, spread = splits.target_units
    torch.testing.assert_close(splits.test.targets[:, 0] * spread + centre, splits.test.ids.double() / 8)


def messy_row(k: int) -> str:
    age = "?" if k % 9 == 0 else str(20 + k % 30)
    cells = (k, k + 100, f"Mr {k}", age, "ABC"[k % 3], 1 + k % 3, f"{k // 2}x", "", k % 2)
    return "\t".join(map(str, cells))


def test_a_messy_table_says_what_was_done_with_it(tmp_path: Path) -> None:
    """An index, an identifier, names and an empty column are left out; many tickets share one column."""
    header = "\tPassengerId\tname\tage\tdeck\tclass\tticket\tempty\tsurvived"
    path = table(tmp_path, "\n".join([header, *map(messy_row, range(80))]))
    splits = load("table", path=path, categories="class", max_categories=4)
    names = ["age", *(f"deck={letter}" for letter in "ABC"), *(f"class={k}" for k in (1, 2, 3))]
    found = splits.preprocessing.output_names()
    assert [name for name in found if "ticket" not in name] == [*names, "age is missing"]
    assert len([name for name in found if name.startswith("ticket=")]) == 3
    crowd = "column 'ticket' has many categories: the 3 most frequent are kept, the others are one"
    assert splits.notes == (
        f"{path}, column 'survived': whole numbers, taken for 2 classes: 0, 1 (task=regression to change it)",
        "column '' is left out: it numbers the rows",
        "column 'PassengerId' is left out: it numbers the rows",
        "column 'name' is left out: its words are all different",
        "column 'empty' is left out: it has no values",
        f"{crowd} (max_categories=... to change it)",
    )
    fewer = load("table", path=path, drop=["ticket", "deck"], task="classification")
    assert fewer.preprocessing.output_names() == ["age", "class", "age is missing"]
    assert fewer.notes == splits.notes[1:5]


def test_words_that_look_like_numbers_are_shown(tmp_path: Path) -> None:
    """All different, or too many for a column each."""
    rows = "\n".join(f'"{k + 1},000.50",{k % 40} EUR,{"uv"[k % 2]}' for k in range(80))
    splits = load("table", path=table(tmp_path, f"amount,fee,y\n{rows}\n"))
    assert [note.rpartition("; ")[2] for note in splits.notes] == [
        "'1,000.50' is read as a word, not as a number",
        "'0 EUR' is read as a word, not as a number",
    ]


@pytest.mark.parametrize(
    ("name", "values", "left_out"),
    [
        ("id", [3, 3, 3], True),
        ("ID", [1, 5, 9], True),
        ("user_id", [1, 5, 9], True),
        ("PassengerId", [1, 5, 9], True),
        ("user_id", [1, 5, 5], False),
        ("paid", [1, 5, 9], False),
        ("index", [4, 5, 6], True),
        ("index", [1, 5, 9], False),
        ("number", [1.5, 2.5, 3.5], False),
        ("word", ["x", "", "y"], True),
        ("word", ["x", "x", "y"], False),
    ],
)
def test_columns_that_number_or_name_the_rows(
    tmp_path: Path, name: str, values: list[Any], left_out: bool
) -> None:
    rows = "\n".join(f"{value},{k},{k / 4}" for k, value in enumerate(values))
    splits = load("table", path=table(tmp_path, f"{name},a,b\n{rows}"), test=0.0)
    assert any(output.startswith(name) for output in splits.preprocessing.output_names()) != left_out
    assert [f"column {name!r} is left out" in note for note in splits.notes] == [True] * left_out


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n1,2\n", {"drop": 3}, "drop must be a name or a list of names, got 3"),
        ("a,b\n1,2\n3\n", {}, r"user\.csv: line 3: expected 2 cells as in the header, got 1"),
        ("a,b\n1,2\n", {"target": "c"}, "unknown target 'c'. Known: a, b"),
        ("a,b\n1,2\n", {"drop": "c"}, "unknown column in drop 'c'. Known: a, b"),
        ("a,b\n1,2\n", {"drop": "b"}, "drop must not name the target column 'b'"),
        ("a,b\ninf,0.5\n2,0.5\n", {}, "line 2, column 'a': expected a finite number, got 'inf'"),
        ("a,b\n1,1\n2,2\n", {"task": "clasification"}, "unknown task .*did you mean 'classification'"),
        ("a,b\n1,x\n2,x\n", {}, "column 'b': expected two classes or more, got one: x"),
        ("a,b\n1,250\n2,300\n", {}, "expected task=classification or task=regression, got 2 different whole"),
        ("a,b\n1,0.5\n2,0.5\n", {"test": 1.0}, "expected rows left for training"),
        ("id,b\n1,0.5\n2,0.5\n", {}, "expected columns to learn from, got column 'id' is left out"),
        ("a,b\n1,0.5\n2,\n", {}, "line 3, column 'b': expected a target in every row"),
    ],
)
def test_table_bad_tables(tmp_path: Path, text: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        load("table", path=table(tmp_path, text), **options)
    assert "\n" not in str(caught.value)


def test_a_value_that_does_not_fit_is_named_wherever_it_is(tmp_path: Path) -> None:
    """One word among 40 numbers, in whatever split its row may be."""
    rows = [f"{k},{k / 8}" for k in range(40)]
    rows[33] = "thirty,1.5"
    for seed in range(3):
        with pytest.raises(DataError, match="line 35, column 'a': expected a number as in 39 of 40 rows"):
            load("table", path=table(tmp_path, "\n".join(["a,b", *rows])), seed=seed)


TOKENS = st.sampled_from(
    [*',;\t|\n"_', "1", "2.5", "NA", "red", "yes", "inf", "1e300", "ü", "\r\n", " ", "\0"]
)


@given(st.lists(TOKENS, max_size=30).map("".join), st.sampled_from(["auto", "classification", "regression"]))
def test_any_text_is_read_or_refused_in_one_line(tmp_path_factory, text: str, task: Any) -> None:
    """What is read is finite, and the same when it is read once more by the preprocessing."""
    rows = "".join(f"{k},{'ab'[k % 2]},{k / 4}\n" for k in range(3))
    path = table(tmp_path_factory.mktemp("any"), f"x,w,y\n{rows}{text}")
    told, splits = "", None
    try:
        splits = load("table", path=path, task=task)
    except DataError as error:
        told = str(error)
    assert "\n" not in told
    if splits is None:
        return
    inputs = splits.preprocessing(splits.preprocessing.read(path))
    assert inputs.isfinite().all()
    assert torch.equal(splits.train.inputs, inputs[splits.train.ids])


def test_one_row_for_training(tmp_path: Path) -> None:
    splits = load("table", path=table(tmp_path, "a,b\n1,x\n2,y\n3,x\n"), validation=0.3, test=0.3)
    assert [len(part) for part in (splits.train, splits.validation, splits.test)] == [1, 1, 1]
