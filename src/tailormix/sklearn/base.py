"""What the classifier and the regressor share: reading parameters and data, holding rows out, going on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .loop import History, make_optimiser, one_pass
from .network import Network, Task, blank, learn, ready, seeded
from .settings import Settings, settings_of
from .splitting import held_out

if TYPE_CHECKING:
    import numpy.typing as npt
    from sklearn.preprocessing import StandardScaler
    from torch import nn, optim

    Array = npt.NDArray[Any]

LARGEST_SEED = 2**31 - 1
SPARSE = ("csr", "csc")  # formats taken as they are; others are converted


class MixupEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """Trains a module with any method; a subclass says what targets are and what is calibrated."""

    module_: nn.Module
    scaler_: StandardScaler
    target_scaler_: StandardScaler | None
    loss_curve_: list[float]
    validation_curve_: list[float]
    n_iter_: int
    _split: int
    _optimiser: optim.Optimizer | None

    @abstractmethod
    def _read(self, X: Any, y: Any, *, first: bool, incremental: bool) -> tuple[Array, Array]:
        """Checked inputs (n, d) and targets: class numbers (n,) or real (n, outputs)."""

    @abstractmethod
    def _task(self, y: Array) -> Task:
        """What is to be learned from these targets."""

    @abstractmethod
    def _calibrate(self, network: Network, X: Array, y: Array) -> None:
        """Fit what turns outputs into answers that can be trusted, on rows the network has not seen."""

    @abstractmethod
    def _trust(self) -> None:
        """Take outputs as they are: there are no rows to calibrate on."""

    def fit(self, X: Any, y: Any) -> Self:
        """Train on X (n, d) and y. Sparse X is made dense at once: centred columns have no zeros to skip."""
        settings = settings_of(self)
        start = self._network() if settings.warm_start and hasattr(self, "module_") else None
        X, y = self._read(X, y, first=start is None, incremental=False)
        task = self._task(y)
        random = check_random_state(self.random_state)
        self._seed, split = (int(random.randint(LARGEST_SEED)) for _ in range(2))
        # Going on, the rows held out must be those of the fit before, or they would have been trained on.
        self._split = split if start is None else self._split
        held = _hold_out(y, task, settings, self._split)
        with seeded(self._seed):
            network, history = learn(task, X, y, held, settings, start)
        if settings.calibrate:
            self._calibrate(network, X[held], y[held])
        else:
            self._trust()
        if held.any() and settings.refit:
            with seeded(self._seed):
                network, history = learn(task, X, y, np.zeros_like(held), settings, None)
        self._keep(network, history, anew=start is None)
        self._optimiser = None
        return self

    def _partial_fit(self, X: Any, y: Any, *, first: bool) -> Self:
        """One pass over the rows from where the last one ended, at one learning rate; nothing is held out."""
        settings = settings_of(self)
        X, y = self._read(X, y, first=first, incremental=True)
        task = self._task(y)
        if first or self._optimiser is None:
            self._random = check_random_state(self.random_state)
        self._seed = int(self._random.randint(LARGEST_SEED))
        with seeded(self._seed):
            network = blank(task, X, y, settings) if first else self._network().seen(X, y)
            rows = network.rows(X, y)
            step = ready(network, task, rows, settings)
            if first or self._optimiser is None:
                self._optimiser = make_optimiser(step, settings.recipe)
            loss = one_pass(step, self._optimiser, rows, settings.recipe)
        if first:
            self._trust()
        self._keep(network, History((loss,)), anew=first)
        return self

    def _network(self) -> Network:
        """The fitted network."""
        check_is_fitted(self, "module_")
        return Network(self.module_, self.scaler_, self.target_scaler_, self._precise)

    def _keep(self, network: Network, history: History, *, anew: bool) -> None:
        """Remember what was trained; curves go on where training did."""
        self.module_ = network.module.eval()
        self.scaler_, self.target_scaler_ = network.scaler, network.target_scaler
        self._precise = network.precise
        if anew:
            self.loss_curve_, self.validation_curve_ = [], []
        self.loss_curve_ += history.losses
        self.validation_curve_ += history.validation
        self.n_iter_ = len(self.loss_curve_)

    def _inputs(self, X: Any) -> Array:
        """Checked inputs of a prediction."""
        check_is_fitted(self, "module_")
        return dense(validate_data(self, X, reset=False, accept_sparse=SPARSE, dtype=np.float64))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def dense(X: Any) -> Array:
    """The same matrix without sparsity, row by row: sums then round alike, whatever kind of matrix came."""
    return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X)


def _hold_out(y: Array, task: Task, settings: Settings, seed: int) -> npt.NDArray[np.bool_]:
    """Mask (n,) of the rows that calibration and early stopping look at; none without either."""
    if not settings.holds_out:
        return np.zeros(len(y), dtype=bool)
    return held_out(y, settings.fraction, np.random.RandomState(seed), classes=task.classes)
