"""Texts end to end: tokens, their embeddings, a fine-tuned encoder with every kind of mixing, and answers."""

import csv
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from tailormix import SKMixup
from tailormix.calibration.predictions import load_predictions
from tailormix.data import load
from tailormix.data.preprocessing import TextPreprocessing, load_preprocessing, save_preprocessing
from tailormix.experiments import load_run, read
from tailormix.experiments.running import run_experiment
from tailormix.models import build
from tiny_bert import WIDTH, tiny_bert

TEXTS = ["where is my card ?", "lost", "my money is lost ?"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Banking77 with two intents, 40 training and 20 test texts."""
    folder = tmp_path / "banking77"
    folder.mkdir()
    for part, rows in (("train", 40), ("test", 20)):
        with (folder / f"{part}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "category"])
            for row in range(rows):
                thing = ("card", "money")[row % 2]
                writer.writerow([f"where is {'my ' * (row % 3)}{thing} ?", thing])
    return tmp_path


def test_embedded_texts_mean_what_tokens_mean_to_the_model() -> None:
    folder = tiny_bert()
    preprocessing = TextPreprocessing.of_model(str(folder), length=12)
    tokens = preprocessing.read(TEXTS)
    assert tokens.shape == (3, 12)
    x = preprocessing(tokens)
    assert x.shape == (3, 7, WIDTH + 1)  # [CLS], five words at most, [SEP]
    bert = transformers.BertModel.from_pretrained(folder).eval()
    model = build("text-encoder", path=str(folder), num_classes=3).eval()
    theirs = transformers.BertTokenizer.from_pretrained(folder)(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        hidden, mask = bert(**theirs).last_hidden_state, theirs["attention_mask"][..., None]
        expected = model.head((hidden * mask).sum(1) / mask.sum(1))
        torch.testing.assert_close(model(x), expected, atol=1e-5, rtol=1e-5)
    assert preprocessing.read(["my " * 40]).shape == (1, 12)  # longer texts are cut


def test_where_two_texts_are_mixed_both_count() -> None:
    preprocessing = TextPreprocessing.of_model(str(tiny_bert()), length=12)
    x = preprocessing(preprocessing.read(TEXTS))
    shown = (x[..., -1] > 0).sum(1).tolist()
    assert shown == [7, 3, 7]
    mixed = SKMixup(num_classes=2, space="input")(x, torch.tensor([0, 1, 0]))[0]
    assert ((mixed[..., -1] > 0).sum(1) >= torch.tensor(shown)).all()


def test_a_saved_preprocessing_needs_no_folder(tmp_path: Path) -> None:
    made = TextPreprocessing.of_model(str(tiny_bert()), length=8)
    again = load_preprocessing(save_preprocessing(tmp_path / "p.safetensors", made))
    (tmp_path / "new.txt").write_text("\n".join(TEXTS))
    assert torch.equal(again(again.read(tmp_path / "new.txt")), made(made.read(np.array(TEXTS))))
    with pytest.raises(ValueError, match="expected a list of texts, got list"):
        made.read([1, 2])


def test_splits(root: Path) -> None:
    splits = load("banking77", root=root, tokenizer=str(tiny_bert()), length=10, validation=0.25)
    assert [len(part) for part in (splits.train, splits.validation, splits.test)] == [30, 10, 20]
    assert splits.class_names == ("card", "money")
    few = load("banking77", root=root, tokenizer=str(tiny_bert()), length=10, shots=5, validation_shots=2)
    assert [len(part) for part in (few.train, few.validation, few.test)] == [10, 4, 20]
    with pytest.raises(ValueError, match="cannot load AutoTokenizer of"):
        load("banking77", root=root, tokenizer=str(root))


@pytest.mark.parametrize("method", ["erm", "sk-mixup", "regmixup", "manifold-mixup"])
def test_a_fine_tuned_run_answers_new_texts(method: str, root: Path, tmp_path: Path) -> None:
    settings = [
        "data=banking77",
        f"data.root={root}",
        f"data.tokenizer={tiny_bert()}",
        "data.length=10",
        "model=text-encoder",
        f"model.path={tiny_bert()}",
        f"method={method}",
        "optimiser=adamw",
        "optimiser.lr=0.01",
        "epochs=3",
        "batch=8",
        "accelerator=cpu",
    ]
    result = run_experiment(read("features", settings), tmp_path / "run")
    assert result["epochs"] == 3
    run, stored = load_run(tmp_path / "run"), load_predictions(tmp_path / "run" / "predictions.npz")
    with (root / "banking77" / "test.csv").open(newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    expected = torch.tensor(stored.logits).double().softmax(1).numpy()
    np.testing.assert_allclose(run.predict_proba(texts, calibrated=False), expected, atol=1e-5)
