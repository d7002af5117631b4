"""Results per class against scikit-learn's."""

import numpy as np
import pytest
import torch
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from support_metrics import classifier
from tailormix.metrics.inputs import classification_inputs
from tailormix.reports.classes import MOST_COUNTED, class_results, pooled


def test_counts_recall_and_precision_agree_with_scikit_learn() -> None:
    logits, targets = classifier()
    found = class_results(classification_inputs(logits, targets, from_logits=True), tuple("abcdefg"))
    label = logits.argmax(1)
    precision, recall, _, samples = precision_recall_fscore_support(targets, label)
    assert np.array_equal(found.confusion, confusion_matrix(targets, label))
    rows = found.rows()
    assert [row.recall for row in rows] == pytest.approx(recall)
    assert [row.precision for row in rows] == pytest.approx(precision)
    assert [row.samples for row in rows] == samples.tolist()
    confidence = logits.softmax(1).amax(1)
    assert rows[2].confidence == pytest.approx(float(confidence[label == 2].mean()))
    assert [row.name for row in rows] == list("abcdefg")


def test_the_largest_confusion_comes_first() -> None:
    """Of 4 samples of class 0, three are taken for 2 and one for 1."""
    p = torch.eye(3)[[2, 2, 2, 1, 1]]
    found = class_results(classification_inputs(p, torch.tensor([0, 0, 0, 0, 1])), ("cat", "dog", "cow"))
    first, second = found.confused()
    assert (first.true, first.predicted, first.count, first.share) == ("cat", "cow", 3, 0.75)
    assert (second.predicted, second.count) == ("dog", 1)
    assert found.rows()[2].recall is None  # no cow among the samples
    assert found.rows()[0].precision is None  # nothing is taken for a cat


def test_seeds_add_up_and_too_many_classes_are_not_counted() -> None:
    logits, targets = classifier(100)
    one = class_results(classification_inputs(logits, targets, from_logits=True))
    both = pooled([one, one])
    assert torch.equal(both.confusion, 2 * one.confusion)
    assert [row.recall for row in both.rows()] == [row.recall for row in one.rows()]
    wide = torch.zeros(1, MOST_COUNTED + 1)
    assert class_results(classification_inputs(wide, torch.tensor([0]), from_logits=True)) is None
