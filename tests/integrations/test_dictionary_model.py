"""Models of transformers as functions of one tensor: what is mixed, and which tokens see each other."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from integrations.tiny_models import LENGTH, ROWS, SMALL, bert, collated, sentences
from nets import plan
from tailormix import ManifoldMixup, Mixup, embed
from tailormix.integrations.dictionary_model import DictionaryModel, token_tensor


def viewed(*rows: int, model: Any = None) -> tuple[Any, Any, Tensor, Tensor, dict[str, Tensor]]:
    """A model, its view for some sentences, their tensor, labels and batch."""
    model = bert() if model is None else model
    batch = collated([sentences()[row] for row in rows])
    labels = batch.pop("labels")
    return model, DictionaryModel(model, batch, "input_ids"), token_tensor(model, batch), labels, batch


def test_the_view_of_clean_sentences_is_the_model() -> None:
    model, view, x, _, batch = viewed(*range(ROWS), model=bert().eval())
    assert x.shape == (ROWS, LENGTH, SMALL["hidden_size"] + 1)
    torch.testing.assert_close(view(x), model(**batch).logits)
    torch.testing.assert_close(view(torch.cat((x, x))), model(**batch).logits.repeat(2, 1))


def masks_of(model: Any) -> list[Tensor]:
    """The masks of the passes to come."""
    seen: list[Tensor] = []
    model.register_forward_pre_hook(
        lambda _, __, named: seen.append(named["attention_mask"]), with_kwargs=True
    )
    return seen


def test_mixed_sentences_see_the_union_of_their_masks() -> None:
    """Rows 0 and 1 have 3 and 4 tokens; mixed with each other both have 4, with λ = 1 they keep theirs."""
    model, view, x, _, _ = viewed(0, 1)
    seen = masks_of(model)
    for lam in ([0.3, 0.999], [1.0, 0.5], [1.0, 1.0], [0.0, 1.0]):
        view(plan([1, 0], lam).blend(x))
    assert [mask.sum(1).tolist() for mask in seen] == [[4, 4], [3, 4], [3, 4], [4, 4]]


@pytest.mark.parametrize("layer", [(), ("bert.encoder.layer.0",)])
def test_mixing_anywhere_sees_the_union_of_the_masks(layer: tuple[str, ...]) -> None:
    """Manifold Mixup at the embeddings or at a hidden layer: rows of 3 and 6 tokens both see 6."""
    model, view, x, labels, _ = viewed(0, 3)
    seen = masks_of(model)
    ManifoldMixup(layers=layer, inputs=not layer).loss(view, x, labels, plan=plan([1, 0], 0.5)).backward()
    assert [mask.sum(1).tolist() for mask in seen] == [[6, 6]]


def test_padding_does_not_change_mixed_sentences() -> None:
    """The same sentences in a longer batch give the same loss."""
    model, _, _, labels, whole = viewed(0, 1)
    losses = []
    for length in (4, LENGTH):
        batch = {key: value[:, :length] for key, value in whole.items()}
        view = DictionaryModel(model, batch, "input_ids")
        losses.append(Mixup().loss(view, token_tensor(model, batch), labels, plan=plan([1, 0], [0.3, 0.8])))
    torch.testing.assert_close(losses[0], losses[1])


def test_the_loss_by_hand() -> None:
    """Mixup of two sentences: cross-entropy of the model on mixed embeddings, with shares 0.25 and 0.75."""
    model, view, x, labels, batch = viewed(0, 1)
    loss = Mixup().loss(view, x, labels, plan=plan([1, 0], 0.25))
    words = model.get_input_embeddings()(batch["input_ids"]) * batch["attention_mask"][..., None]
    logits = model(
        inputs_embeds=0.25 * words + 0.75 * words.flip(0), attention_mask=batch["attention_mask"][[1, 1]]
    ).logits
    targets = torch.tensor([[0.25, 0.75, 0.0], [0.75, 0.25, 0.0]])
    torch.testing.assert_close(loss, functional.cross_entropy(logits, targets))


def test_distances_are_between_the_inputs_of_the_classifier() -> None:
    """Of BERT that is the pooled output; layers keep the names they have in the model."""
    model, view, x, _, batch = viewed(*range(ROWS), model=bert().eval())
    pooled = model.bert(**batch).pooler_output.detach()
    torch.testing.assert_close(embed(view, x), pooled)
    torch.testing.assert_close(embed(view, x, "classifier"), pooled)


def test_distances_do_not_see_the_mask() -> None:
    """Two empty rows whose masks differ everywhere are as good as equal."""
    model = bert()
    model.get_input_embeddings().weight.data.zero_()
    batch = {"input_ids": torch.zeros(2, 4).long(), "attention_mask": torch.tensor([[1] * 4, [0] * 4])}
    first, second = token_tensor(model, batch).detach()
    assert 0 < float((first - second).norm()) < 0.01
