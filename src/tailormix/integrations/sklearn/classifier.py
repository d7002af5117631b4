"""MixupClassifier: calibrated probabilities for tables of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import column_or_1d
from torch.nn import functional

from tailormix.calibration.ensemble import class_disagreement, log_mean_probabilities
from tailormix.calibration.temperature import TemperatureScaling
from tailormix.integrations.sklearn.base import MixupEstimator, read_rows
from tailormix.integrations.sklearn.network import Problem
from tailormix.integrations.sklearn.options import methods_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt
    from torch import Tensor, nn

    from tailormix.components import Criterion
    from tailormix.integrations.sklearn.network import Inputs, Network
    from tailormix.method import Method

    Array = npt.NDArray[Any]


@final
class MixupClassifier(ClassifierMixin, MixupEstimator):  # type: ignore[misc]
    """softmax(f(x) / T): f trained by the method that suits the data, and T > 0 fitted on rows held out.

    Args:
        method: ``"auto"``, a name of ``tailormix list methods``, or a ``Method``. ``"auto"``: plain training,
            Mixup, SK Mixup, RegMixup and SK RegMixup with automatic strength are trained, and the one with
            the lowest loss on rows held out is taken.
        method_options: settings of the method of that name, for example ``{"tau_std": 0.5}``; a strength may
            be ``"auto"``, set after each pass by the rows held out.
        module: a function (features after preprocessing, classes) → ``nn.Module``; by default an MLP with
            ``hidden_layer_sizes`` and ``dropout``.
        hidden_layer_sizes: widths of the MLP's hidden layers.
        dropout: its share of units dropped.
        class_weight: ``None``, ``"balanced"`` or a dictionary from class to weight.
        learning_rate: of AdamW, at the start of half a cosine wave.
        weight_decay: of AdamW. ``"auto"``: 0.01, 1, 3 and 10 are tried in plain training (or with the method
            that is named), and the one with the lowest loss on rows held out is taken.
        batch_size: the most rows of a step.
        max_iter: passes over the rows.
        early_stopping: stop when the loss on rows held out has not fallen for ``n_iter_no_change`` passes,
            and go back to the best.
        n_iter_no_change: see ``early_stopping``.
        validation_fraction: share of rows held out, stratified, for the temperature and for early stopping;
            more where rows are few, so that every class with two rows or more has room for one.
        calibrate: whether to fit T; with fewer than 4 rows, not counting those that are the only one of their
            class, ``fit`` raises before training.
        refit: train once more on all rows after T is known (never with early stopping or ``warm_start``).
        warm_start: start from the last fit.
        members: networks with seeds of their own, trained at once; their probabilities are averaged before
            T is fitted.
        random_state: an integer makes fits identical, bit by bit.
        verbose: 1 shows a progress bar.

    Attributes:
        classes_: labels, in the order of the columns of ``predict_proba``.
        temperature_: T; 1 without calibration.
        method_, weight_decay_: the name of the method and the weight decay; with ``"auto"`` the chosen ones.
        modules_: the trained module of each member.
        preprocessing_: what makes their inputs from rows of numbers or words.
        n_iter_, loss_curve_, validation_curve_: passes, and the losses of each.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> MixupClassifier(max_iter=5, random_state=0).fit(X, y).predict_proba(X[:2]).shape
    (2, 3)

    """

    classes_: Array

    def __init__(
        self,
        method: str | Method = "auto",
        *,
        method_options: Mapping[str, Any] | None = None,
        module: Callable[[int, int], nn.Module] | None = None,
        hidden_layer_sizes: int | tuple[int, ...] = (128, 128),
        dropout: float = 0.2,
        class_weight: str | Mapping[Any, float] | None = None,
        learning_rate: float = 3e-3,
        weight_decay: float | str = "auto",
        batch_size: int = 32,
        max_iter: int = 40,
        early_stopping: bool = False,
        n_iter_no_change: int = 20,
        validation_fraction: float = 0.2,
        calibrate: bool = True,
        refit: bool = True,
        warm_start: bool = False,
        members: int = 1,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.method_options = method_options
        self.module = module
        self.hidden_layer_sizes = hidden_layer_sizes
        self.dropout = dropout
        self.class_weight = class_weight
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.calibrate = calibrate
        self.refit = refit
        self.warm_start = warm_start
        self.members = members
        self.random_state = random_state
        self.verbose = verbose

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """One pass over these rows; the first call names all ``classes``. T stays as it was, at first 1."""
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all rows at once: give partial_fit a dictionary"
            )
        first = not hasattr(self, "modules_")
        if first and classes is None:
            raise ValueError("classes must be given in the first call of partial_fit, got None")
        if classes is not None:
            self._set_classes(unique_labels(classes), first=first)
        return self._partial_fit(X, y, first=first)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities (n, C), columns in the order of ``classes_``."""
        return np.asarray(self._scaled_logits(X).softmax(1))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities (n, C)."""
        return np.asarray(self._scaled_logits(X).log_softmax(1))

    def predict(self, X: Any) -> Array:
        """The most probable class of each row, (n,)."""
        columns = np.asarray(self._scaled_logits(X).argmax(1))
        chosen: Array = self.classes_[columns]
        return chosen

    def disagreement(self, X: Any) -> Array:
        """The share of pairs of members that name different classes, for each row (n,)."""
        self._check_members()
        return np.asarray(class_disagreement(self._network().outputs(self._inputs(X))))

    def _scaled_logits(self, X: Any) -> Tensor:
        X = self._inputs(X)
        return log_mean_probabilities(self._network().outputs(X)) / self.temperature_

    def _read(self, X: Any, y: Any, *, first: bool, incremental: bool) -> tuple[Inputs, Array]:
        X, y = read_rows(self, X, y, first=first)
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        if not incremental:
            self._set_classes(np.unique(y), first=first)
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise ValueError(f"y must hold classes of {list(self.classes_)} only, got {list(unknown)}")
        return X, np.searchsorted(self.classes_, y)

    def _set_classes(self, classes: Array, *, first: bool) -> None:
        if not first and not np.array_equal(classes, self.classes_):
            raise ValueError(f"classes must stay {list(self.classes_)}, got {list(classes)}")
        if len(classes) < 2:
            raise ValueError(f"y must hold at least 2 classes, got one class: {list(classes)}")
        self.classes_ = classes

    def _problems(self, y: Array) -> dict[str, Problem]:
        classes, criterion = len(self.classes_), _weighted(self._class_weights(y))
        return {
            name: Problem(method, auto, criterion, classes, classes, log_mean_probabilities)
            for name, (method, auto) in methods_of(self.method, self.method_options, classes).items()
        }

    def _class_weights(self, y: Array) -> Tensor | None:
        """Weights (C,) with mean 1."""
        if self.class_weight is None:
            return None
        weights = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[y])
        return torch.as_tensor(weights / weights.mean(), dtype=torch.float32)

    def _calibrate(self, network: Network, X: Inputs, y: Array) -> None:
        logits = log_mean_probabilities(network.outputs(X))
        self.temperature_ = TemperatureScaling().fit(logits, network.targets(y)).temperature

    def _skip_calibration(self) -> None:
        self.temperature_ = 1.0


def _weighted(weights: Tensor | None) -> Criterion:
    """-Σ_c w_c t_c log p_c for each row, (n,); targets are class indices or soft rows."""

    def criterion(logits: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(logits, targets, weights, reduction="none")

    return criterion
