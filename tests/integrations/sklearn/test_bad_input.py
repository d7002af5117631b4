"""Bad input is told before any training, in the words that scikit-learn users know."""

from typing import Any

import numpy as np
import pytest
from torch import nn

from integrations.sklearn.quick import REAL, X, Y, classifier, regressor
from tailormix import Mixup
from tailormix.integrations.sklearn import network

ENDLESS = np.where(np.arange(X.size).reshape(X.shape) == 5, np.inf, X)


@pytest.fixture(autouse=True)
def _no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """An epoch of training would fail with another error than the one expected."""

    def refuse(*_: Any) -> None:
        raise AssertionError("trained on bad input")

    monkeypatch.setattr(network.Members, "epoch", refuse)


@pytest.mark.parametrize(
    ("make", "rows", "y", "told"),
    [
        (classifier, ENDLESS, Y, "Input X contains infinity"),
        (classifier, X[:, 0], Y, "Expected 2D array, got 1D array"),
        (classifier, X, Y[:-1], "inconsistent numbers of samples"),
        (classifier, X, np.zeros(60), "at least 2 classes, got one class"),
        (classifier, X, REAL, "Unknown label type"),
        (classifier, X[:0], Y[:0], "0 sample"),
        (classifier, X[:1], Y[:1], "1 sample"),
        (regressor, ENDLESS, REAL, "Input X contains infinity"),
        (regressor, X, np.where(REAL > 0, np.inf, REAL), "Input y contains infinity"),
        (regressor, X[:1], REAL[:1], "1 sample"),
        (regressor, X, REAL[:-1], "inconsistent numbers of samples"),
    ],
)
def test_data(make: Any, rows: Any, y: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        make().fit(rows, y)


HOLDING_OUT = [
    {},
    {"calibrate": True},
    {"calibrate": False, "early_stopping": True},
    {"calibrate": False, "method": "auto"},
    {"calibrate": False, "method_options": {"tau_max": "auto"}},
]


@pytest.mark.parametrize("asked", HOLDING_OUT)
def test_fewer_rows_than_the_validation_split_needs(asked: dict[str, Any]) -> None:
    """A row held out leaves one like it to train on, and 2 are needed: two pairs, not a pair and one."""
    with pytest.raises(
        ValueError, match=r"at least 2 rows .* n_samples=3, 1 of them the only one .* leaves 2"
    ):
        classifier(**asked).fit(X[:3], [0, 0, 1])
    with pytest.raises(ValueError, match=r"n_samples=12, 12 of them the only one of its class, leaves 0"):
        classifier(**asked).fit(X[:12], np.arange(12))
    with pytest.raises(ValueError, match=r"validation_fraction must lie in \(0, 0.5\], got 0"):
        classifier(**asked, validation_fraction=0).fit(X, Y)
    if "method" not in asked and "method_options" not in asked:
        with pytest.raises(ValueError, match=r"at least 2 rows .* n_samples=3 leaves 3 to share out"):
            regressor(**asked).fit(X[:3], REAL[:3])


@pytest.mark.parametrize(
    ("method", "tasks"),
    [(name, "regression") for name in ("rankmixup", "rankmixup-mrl", "mit-l", "mit-a", "remix")]
    + [("c-mixup", "classification"), ("cutmix", "both"), ("sk-cutmix", "both")],
)
def test_methods_for_other_targets_or_for_images(method: str, tasks: str) -> None:
    for task, model, y in (("classification", classifier, Y), ("regression", regressor, REAL)):
        if tasks in (task, "both"):
            with pytest.raises(ValueError, match="cannot be trained on these targets"):
                model(method=method).fit(X, y)


def test_methods_set_up_for_something_else() -> None:
    with pytest.raises(ValueError, match="num_classes=4, but y has 3 classes"):
        classifier(method=Mixup(num_classes=4)).fit(X, Y)
    with pytest.raises(ValueError, match="num_classes=4, but y has real targets"):
        regressor(method=Mixup(num_classes=4)).fit(X, REAL)
    with pytest.raises(ValueError, match="mc_samples must be >= 2, got 1"):
        regressor(mc_samples=1).fit(X, REAL)
    with pytest.raises(ValueError, match="method_options go with the name of a method"):
        classifier(method=Mixup(), method_options={"alpha": 2.0}).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "kind", "told"),
    [
        ({"method": "sk-mxup"}, ValueError, "unknown method 'sk-mxup'; did you mean 'sk-mixup'"),
        ({"method": 3}, TypeError, "method must be a name or a Method, got int"),
        ({"method_options": {"tau_sd": 1.0}}, ValueError, "did you mean 'tau_std'"),
        ({"method_options": {"tau_std": -1.0}}, ValueError, "tau_std must be > 0, got -1.0"),
        ({"hidden_layer_sizes": (8, 0)}, ValueError, "hidden_layer_sizes must be >= 1, got 0"),
        ({"dropout": 1.0}, ValueError, r"dropout must lie in \[0, 1\), got 1.0"),
        ({"learning_rate": 0.0}, ValueError, "learning_rate must be > 0"),
        ({"weight_decay": -1.0}, ValueError, "weight_decay must be >= 0"),
        ({"batch_size": 0}, ValueError, "batch_size must be >= 1"),
        ({"max_iter": 0}, ValueError, "max_iter must be >= 1"),
        ({"n_iter_no_change": 0}, ValueError, "n_iter_no_change must be >= 1"),
        ({"validation_fraction": 0.6}, ValueError, r"validation_fraction must lie in \(0, 0.5\], got 0.6"),
        ({"calibrate": "yes"}, TypeError, "calibrate must be True or False, got 'yes'"),
        ({"early_stopping": "auto"}, TypeError, "early_stopping must be True or False"),
        ({"module": 3}, TypeError, "module must be a function"),
        ({"module": lambda a, b: a + b}, TypeError, "module must return an nn.Module, got int"),
        ({"module": lambda a, b: nn.Linear(a, b + 1)}, ValueError, "returns 4 logits, but num_classes is 3"),
        ({"module": lambda a, b: nn.Linear(a + 1, b)}, ValueError, "cannot be trained on these targets"),
        ({"class_weight": "even"}, ValueError, "class_weight"),
        ({"members": 0}, ValueError, "members must be >= 1, got 0"),
        ({"members": -1}, ValueError, "members must be >= 1, got -1"),
        ({"members": 2.5}, TypeError, "members must be a whole number, got float: 2.5"),
        ({"members": "two"}, TypeError, "members must be a whole number, got str: 'two'"),
        ({"members": True}, TypeError, "members must be a whole number, got bool: True"),
        ({"members": None}, TypeError, "members must be a whole number, got NoneType: None"),
    ],
)
def test_parameters(options: dict[str, Any], kind: type[Exception], told: str) -> None:
    with pytest.raises(kind, match=told):
        classifier(**options).fit(X, Y)
    if "members" in options:
        with pytest.raises(kind, match=told):
            regressor(**options).fit(X, REAL)


def test_partial_fit_wants_its_classes() -> None:
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        classifier().partial_fit(X, Y)
    with pytest.raises(ValueError, match=r"y must hold classes of \[.*\] only, got \[.*2.*\]"):
        classifier().partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows at once"):
        classifier(class_weight="balanced").partial_fit(X, Y, classes=[0, 1, 2])
