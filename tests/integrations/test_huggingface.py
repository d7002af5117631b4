"""Tiny models of transformers, made from their configurations, in real runs of the Trainer on the CPU."""

from __future__ import annotations

import importlib
import pickle
import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch
import transformers
from torch import Tensor, nn
from transformers import Trainer

from integrations.cases import CLASSIFIERS, ready
from integrations.tiny_models import (
    CLASSES,
    ROWS,
    SGD,
    arguments,
    bert,
    collated,
    pictures,
    sentences,
    vit,
)
from nets import seeded
from tailormix import ERM, Mixup, RegMixup, SKMixup, build_method
from tailormix.integrations.huggingface import MixupTrainer
from tailormix.losses import build

if TYPE_CHECKING:
    from pathlib import Path


def trainer(folder: Path, method: Any, model: Any = None, data: Any = None, **more: Any) -> MixupTrainer:
    criterion = {"criterion": more.pop("criterion")} if "criterion" in more else {}
    rows = sentences() if data is None else data
    return MixupTrainer(
        model=bert() if model is None else model,
        args=arguments(folder, **more),
        train_dataset=rows,
        eval_dataset=rows,
        method=method,
        **criterion,
    )


def assert_same(one: nn.Module, other: nn.Module, **tolerance: float) -> None:
    weights = other.state_dict()
    for key, value in one.state_dict().items():
        torch.testing.assert_close(value, weights[key], **tolerance)


LAYERED = ("manifold-mixup", "sk-manifold-mixup", "mit-a")
#: what pictures add to texts: pixels that are cut or mixed inside, and one of each kind of objective
IMAGES = ("cutmix", "sk-cutmix", "manifold-mixup", "sk-mixup", "regmixup", "rankmixup", "mit-a")
KINDS: dict[str, Any] = {"text": (bert, sentences), "images": (vit, pictures)}
LAYERS = {"text": "bert.encoder.layer.0", "images": "vit.layers.0"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for kind in KINDS for name in (CLASSIFIERS if kind == "text" else IMAGES)],
)
def test_every_method_trains(name: str, kind: str, tmp_path: Path) -> None:
    model, data = KINDS[kind]
    layers = {"layers": (LAYERS[kind],)} if name in LAYERED else {}
    method = ready(name, CLASSES, **layers)
    if kind == "text" and "cutmix" in name:
        with pytest.raises(ValueError, match="cannot mix text"):
            trainer(tmp_path, method)
        return
    run = trainer(tmp_path, method, model(), data(), max_steps=2)
    assert 0 < run.train().training_loss < 10
    words = ["bert.embeddings.word_embeddings.weight"] if kind == "text" else []
    assert_moved(run.model, model(), "classifier.weight", *words)


def assert_moved(model: nn.Module, fresh: nn.Module, *names: str) -> None:
    for name in names:
        moved, start = model.state_dict()[name], fresh.state_dict()[name]
        assert moved.isfinite().all()
        assert not torch.equal(moved, start), name


@pytest.mark.parametrize("settings", [{}, {"label_smoothing_factor": 0.2}])
@pytest.mark.parametrize("kind", KINDS)
def test_without_mixing_it_is_the_trainer_of_transformers(
    kind: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    model, data = KINDS[kind]
    settings = {**SGD, **settings}
    mine = trainer(tmp_path, ERM(), model(), data(), **settings)
    theirs = Trainer(model(), arguments(tmp_path, **settings), train_dataset=data())
    mine.train()
    theirs.train()
    assert_same(mine.model, theirs.model, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_accumulated_batches_are_one_large_batch(kind: str, tmp_path: Path) -> None:
    """Batches of 4, 4 and 2 rows make the step of one batch of 10 in transformers' own trainer."""
    model, data = KINDS[kind]
    parts = {"gradient_accumulation_steps": 3, "num_train_epochs": 3, **SGD}
    mine = trainer(tmp_path, ERM(), model(), data()[:10], **parts)
    whole = arguments(tmp_path, per_device_train_batch_size=10, num_train_epochs=3, **SGD)
    theirs = Trainer(model(), whole, train_dataset=data()[:10])
    mine.train()
    theirs.train()
    assert mine.state.global_step == theirs.state.global_step == 3
    assert_same(mine.model, theirs.model, rtol=1e-3, atol=1e-5)


def test_evaluation_and_prediction_are_left_alone(tmp_path: Path) -> None:
    run = trainer(tmp_path, RegMixup())
    plain = Trainer(bert(), arguments(tmp_path), eval_dataset=sentences())
    assert run.evaluate()["eval_loss"] == pytest.approx(plain.evaluate()["eval_loss"], rel=1e-6)
    mine, theirs = run.predict(sentences()), plain.predict(sentences())
    assert mine.predictions.shape == (ROWS, CLASSES)
    assert (mine.predictions == theirs.predictions).all()


def test_what_is_saved_is_the_plain_model(tmp_path: Path) -> None:
    run = trainer(tmp_path, SKMixup())
    run.train()
    run.save_model(str(tmp_path / "saved"))
    loaded, report = transformers.AutoModelForSequenceClassification.from_pretrained(
        tmp_path / "saved", output_loading_info=True
    )
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    assert set(run.model.state_dict()) == set(bert().state_dict())
    pickle.dumps(run.model)  # hooks that were left behind could not be pickled
    assert_same(loaded, run.model, rtol=0, atol=0)


@pytest.mark.parametrize("name", ["sk-mixup", "rankmixup"])
def test_resuming_ends_in_the_same_weights(name: str, tmp_path: Path) -> None:
    """Dropout is on: transformers restores the generator that it and mixing draw from."""
    dropout, saving = {"hidden_dropout_prob": 0.1}, {"save_strategy": "steps", "save_steps": 3}
    whole = trainer(tmp_path, build_method(name), bert(**dropout), num_train_epochs=2, **saving)
    whole.train()
    resumed = trainer(tmp_path, build_method(name), bert(seed=1, **dropout), num_train_epochs=2, **saving)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-3"))
    assert whole.state.global_step == resumed.state.global_step == 6
    assert_same(whole.model, resumed.model, rtol=0, atol=0)


def test_c_mixup_trains_on_real_labels(tmp_path: Path) -> None:
    method = build_method("c-mixup", partners="batch")
    run = trainer(tmp_path, method, bert(1), sentences(torch.linspace(-1, 1, ROWS)))
    assert 0 < run.train().training_loss < 5
    assert_moved(run.model, bert(1), "classifier.weight")


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        (torch.linspace(-1, 1, ROWS), {"labels": 1}),
        (
            torch.rand(ROWS, CLASSES, generator=seeded()).round(),
            {"problem_type": "multi_label_classification"},
        ),
    ],
)
def test_other_labels_without_mixing_are_those_of_transformers(
    labels: Tensor, options: dict[str, Any], tmp_path: Path
) -> None:
    """Regression, and several labels at once, which SK Mixup trains as well."""
    run, batch = trainer(tmp_path, ERM(), bert(**options)), collated(sentences(labels))
    run.model.train()
    torch.testing.assert_close(run.compute_loss(run.model, dict(batch)), run.model(**batch).loss)
    for method in (SKMixup(), SKMixup(num_classes=CLASSES) if labels.dim() > 1 else SKMixup()):
        mixing = trainer(tmp_path, method, bert(**options), sentences(labels))
        assert 0 < mixing.train().training_loss < 5
        assert_moved(mixing.model, bert(**options), "classifier.weight")


def test_a_criterion_takes_the_place_of_cross_entropy(tmp_path: Path) -> None:
    run = trainer(tmp_path, ERM(), criterion=build("focal", gamma=0.0))
    batch = collated(sentences())
    run.model.train()
    torch.testing.assert_close(run.compute_loss(run.model, dict(batch)), run.model(**batch).loss)
    run.criterion = build("focal", gamma=3.0)
    assert run.compute_loss(run.model, dict(batch)) < run.model(**batch).loss


def test_half_precision_trains(tmp_path: Path) -> None:
    """Under autocast logits are rounded to bfloat16, which must not pass for a difference."""
    run = trainer(tmp_path, SKMixup(), bf16=True)
    assert 0 < run.train().training_loss < 10
    assert run.model.classifier.weight.dtype == torch.float32


def gpt() -> Any:
    sizes = {"n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 16}
    config = transformers.GPT2Config(vocab_size=30, num_labels=CLASSES, pad_token_id=0, **sizes)
    torch.manual_seed(0)
    return transformers.GPT2ForSequenceClassification(config)


def flipped(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value.flip(0) if value.dim() else value for key, value in row.items()} for row in rows]


def test_models_that_look_for_padding_in_the_tokens_are_rejected(tmp_path: Path) -> None:
    """GPT-2 pools the last token, which it cannot find among embeddings: padding must be on the left."""
    with pytest.raises(ValueError, match="answers differently to inputs_embeds than to input_ids"):
        trainer(tmp_path, Mixup(), gpt()).train()
    run = trainer(tmp_path, SKMixup(), gpt(), flipped(sentences()))
    assert 0 < run.train().training_loss < 10


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": build_method("c-mixup")}, "use partners='batch'"),
        ({"method": Mixup(num_classes=7)}, "the model returns 3 logits, but num_classes is 7"),
        (
            {"method": Mixup(), "criterion": build("ls"), "label_smoothing_factor": 0.1},
            "label_smoothing_factor must be 0 with a criterion, got 0.1",
        ),
        ({"method": ERM(), "criterion": build("crl", size=ROWS)}, "CRL keeps a history"),
    ],
)
def test_bad_settings_are_rejected_before_training(
    settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        trainer(tmp_path, **settings)


def test_a_name_is_not_a_method(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"build_method\('mixup'\)"):
        trainer(tmp_path, "mixup")
    with pytest.raises(ValueError, match="pass the loss as criterion="):
        MixupTrainer(bert(), arguments(tmp_path), method=Mixup(), compute_loss_func=lambda *_: None)


def test_bad_batches(tmp_path: Path) -> None:
    run, batch = trainer(tmp_path, Mixup()), collated(sentences())
    run.model.train()
    with pytest.raises(ValueError, match="attention_mask must have the shape of input_ids"):
        run.compute_loss(run.model, {**batch, "attention_mask": batch["attention_mask"][:, None]})
    with pytest.raises(ValueError, match=r"class indices must have shape \(n,\)"):
        run.compute_loss(run.model, {**batch, "labels": batch["input_ids"]})
    with pytest.raises(ValueError, match="return_outputs must be False"):
        run.compute_loss(run.model, batch, return_outputs=True)
    with pytest.raises(ValueError, match="labels are needed"):
        run.compute_loss(run.model, {"input_ids": batch["input_ids"]})
    seen, rows = trainer(tmp_path, Mixup(), vit(), pictures()), collated(pictures())
    seen.model.train()
    with pytest.raises(ValueError, match="pixel_values with an attention_mask cannot be mixed"):
        seen.compute_loss(seen.model, {**rows, "attention_mask": torch.ones(ROWS, 4)})


def test_without_transformers_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.delitem(sys.modules, "tailormix.integrations.huggingface")
    with pytest.raises(ImportError, match=r'pip install "tailormix\[huggingface\]"'):
        importlib.import_module("tailormix.integrations.huggingface")
