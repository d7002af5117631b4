"""What both estimators share: the rows held out, and fitting itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from tailormix.data.files.tables import read_table
from tailormix.integrations.sklearn.network import (
    History,
    Network,
    Problem,
    learn,
    learn_further,
)
from tailormix.integrations.sklearn.options import options_of

if TYPE_CHECKING:
    import numpy.typing as npt
    from sklearn.preprocessing import StandardScaler
    from torch import nn, optim

    from tailormix.data.preprocessing import TablePreprocessing
    from tailormix.integrations.sklearn.network import Inputs
    from tailormix.integrations.sklearn.options import Options

    Array = npt.NDArray[Any]
    Mask = npt.NDArray[np.bool_]


MINIMUM = 2  # rows of validation without which nothing can be fitted on it


def held_out(
    y: npt.NDArray[Any], fraction: float, random: np.random.RandomState, *, classes: int | None
) -> npt.NDArray[np.bool_]:
    """Mask (n,) of about ``fraction`` · n rows: every (1/fraction)-th in the order of the targets.

    Classes, or quantiles of a real target, so keep their shares to within one row. The only row of a class
    is never held out. Where rows are few, the share grows until each of the other classes has room for a row
    (2 rows for real targets), but never beyond half of the rows: each row held out leaves one like it to
    train on. ``classes`` is the number of classes, ``None`` for real targets (n, outputs).

    >>> y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> y[held_out(y, 0.5, np.random.RandomState(0), classes=2)]
    array([0, 0, 1, 1])
    >>> y[held_out(y, 0.1, np.random.RandomState(0), classes=2)]
    array([0, 1])
    """
    codes = y if classes is not None else y[:, 0]
    order = np.lexsort((random.random_sample(len(codes)), codes))
    least = MINIMUM
    if classes is not None:
        counts = np.bincount(codes, minlength=classes)
        order = order[counts[codes[order]] > 1]
        least = max(MINIMUM, int((counts > 1).sum()))
    if len(order) < 2 * MINIMUM:
        raise ValueError(_too_few(len(codes), len(order)))
    wanted = min(max(round(fraction * len(order)), least), len(order) // 2)
    places = (np.arange(wanted) + random.random_sample()) * (len(order) / wanted)
    mask = np.zeros(len(codes), dtype=bool)
    mask[order[places.astype(int)]] = True
    return mask


def _too_few(rows: int, free: int) -> str:
    alone = f", {rows - free} of them the only one of its class," if free < rows else ""
    return (
        f"calibration, early stopping, method='auto', weight_decay='auto' and automatic strength hold out at "
        f"least {MINIMUM} rows and train on as many like them, but n_samples={rows}{alone} leaves {free} to "
        "share out: give more samples, or name a weight decay and a method of fixed strength and set "
        "calibrate=False and early_stopping=False"
    )


LARGEST_SEED = 2**31 - 1


def draw_seeds(
    random: np.random.RandomState, members: int, start: Network | None
) -> tuple[tuple[int, ...], int]:
    """The seed of each member, and that of the rows held out; members cannot be added to a fitted network.

    The first member has the seed of a fit without others.

    >>> many, one = (draw_seeds(np.random.RandomState(0), k, None) for k in (3, 1))
    >>> many[0][0] == one[0][0], many[1] == one[1]
    (True, True)
    """
    if start is not None and len(start.modules) != members:
        raise ValueError(f"members must stay {len(start.modules)}, as in the fit before, got {members}")
    first, split, *others = (int(random.randint(LARGEST_SEED)) for _ in range(1 + members))
    return (first, *others), split


#: how scikit-learn checks a matrix of numbers: these sparse formats are taken as they are
NUMBERS = {"accept_sparse": ("csr", "csc"), "dtype": np.float64, "ensure_all_finite": "allow-nan"}


class MixupEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """Trains a module with any method; a subclass says what the targets are and what is calibrated."""

    method_: str
    weight_decay_: float
    modules_: list[nn.Module]
    preprocessing_: TablePreprocessing
    target_scaler_: StandardScaler | None
    loss_curve_: list[float]
    validation_curve_: list[float]
    n_iter_: int
    _split: int
    _optimiser: optim.Optimizer | None

    @abstractmethod
    def _read(self, X: Any, y: Any, *, first: bool, incremental: bool) -> tuple[Inputs, Array]:
        """Checked inputs and targets: class numbers (n,) or real (n, outputs)."""

    @abstractmethod
    def _problems(self, y: Array) -> dict[str, Problem]:
        """What is to be learned from these targets, by the names of the methods that may do it."""

    @abstractmethod
    def _calibrate(self, network: Network, X: Inputs, y: Array) -> None:
        """Fit the calibration on rows that the network has not seen."""

    @abstractmethod
    def _skip_calibration(self) -> None:
        """Leave the outputs as they are."""

    def fit(self, X: Any, y: Any) -> Self:
        """Train on X and y: numbers (n, d), NaN for missing ones, or a data frame of numbers and words.

        Sparse X is made dense at once: centred columns have no zeros to skip.
        """
        options = options_of(self)
        start = self._network() if options.warm_start and hasattr(self, "modules_") else None
        X, y = self._read(X, y, first=start is None, incremental=False)
        problems = self._problems(y)
        if start is not None and self.method_ in problems:  # a choice that was made before stays
            problems = {self.method_: problems[self.method_]}
        if start is not None and self.weight_decay_ in options.decays:
            options = replace(options, decays=(self.weight_decay_,))
        self._seeds, split = draw_seeds(check_random_state(self.random_state), options.members, start)
        # A warm start must hold out the same rows as the fit before, or they would have been trained on.
        self._split = split if start is None else self._split
        held = np.zeros(len(y), dtype=bool)
        if options.holds_out or any(problem.auto for problem in problems.values()):
            draw = np.random.RandomState(self._split)
            held = held_out(y, options.fraction, draw, classes=next(iter(problems.values())).classes)
        self.method_, self.weight_decay_, network, history = self._train(problems, X, y, held, options, start)
        options = replace(options, decays=(self.weight_decay_,))
        if options.calibrate:
            self._calibrate(network, X[held], y[held])
        else:
            self._skip_calibration()
        if held.any() and options.refit:
            network, history = learn(
                *(problems[self.method_], X, y, np.zeros_like(held), options, self._seeds, None),
                strengths=history.strengths,
            )
        self._store(network, history, anew=start is None)
        self._optimiser = None
        return self

    def _train(
        self, problems: dict[str, Problem], X: Inputs, y: Array, held: Mask, options: Options, start: Any
    ) -> tuple[str, float, Network, History]:
        """The method and the weight decay with the lowest loss on rows held out, and what they have trained.

        The first method, of several plain training, chooses the weight decay; then the methods compete with
        it. One network of each is enough to choose by: the other members are trained with the chosen ones.
        """
        alone = len(problems) == len(options.decays) == 1
        seeds = self._seeds if alone or start else self._seeds[:1]
        fits: dict[tuple[str, float], tuple[Network, History]] = {}
        losses: dict[tuple[str, float], float] = {}

        def best(candidates: list[tuple[str, float]]) -> tuple[str, float]:
            for name, decay in candidates:
                if (name, decay) not in fits:
                    own = replace(options, decays=(decay,))
                    fits[name, decay] = learn(problems[name], X, y, held, own, seeds, start)
                    if not alone:
                        losses[name, decay] = problems[name].loss(fits[name, decay][0], X[held], y[held])
            return candidates[0] if alone else min(candidates, key=losses.__getitem__)

        _, decay = best([(next(iter(problems)), each) for each in options.decays])
        name, decay = best([(each, decay) for each in problems])
        if len(seeds) < options.members:
            chosen = replace(options, decays=(decay,))
            return name, decay, *learn(problems[name], X, y, held, chosen, self._seeds, None)
        return name, decay, *fits[name, decay]

    def _partial_fit(self, X: Any, y: Any, *, first: bool) -> Self:
        """One pass over the rows from where the last one ended, at one learning rate; nothing is held out."""
        options = options_of(self)
        start = None if first else self._network()
        X, y = self._read(X, y, first=first, incremental=True)
        # Nothing to choose by: plain training, and the smallest weight decay.
        self.method_, problem = next(iter(self._problems(y).items()))
        self.weight_decay_ = options.decays[0]
        if problem.auto:
            raise ValueError("automatic strength needs rows held out, and partial_fit holds none out")
        optimiser = None if first else self._optimiser
        if optimiser is None:
            self._random = check_random_state(self.random_state)
        self._seeds, _ = draw_seeds(self._random, options.members, start)
        network = start.rescaled(X, y) if start else Network.new(problem, X, y, options, self._seeds)
        loss, self._optimiser = learn_further(
            network, problem, network.rows(X, y), options, self._seeds, optimiser
        )
        if first:
            self._skip_calibration()
        self._store(network, History([loss], [], []), anew=first)
        return self

    def _network(self) -> Network:
        """The fitted network."""
        check_is_fitted(self, "modules_")
        return Network(tuple(self.modules_), self.preprocessing_, self.target_scaler_, self._precise)

    def _store(self, network: Network, history: History, *, anew: bool) -> None:
        """Store what was trained; the curves continue unless training started anew."""
        self.modules_ = [module.eval() for module in network.modules]
        self.preprocessing_, self.target_scaler_ = network.preprocessing, network.target_scaler
        self._precise = network.precise
        if anew:
            self.loss_curve_, self.validation_curve_ = [], []
        self.loss_curve_ += history.losses
        self.validation_curve_ += history.validation
        self.n_iter_ = len(self.loss_curve_)

    def _check_members(self) -> None:
        check_is_fitted(self, "modules_")
        if len(self.modules_) < 2:
            raise ValueError(f"disagreement needs two members or more, got members={len(self.modules_)}")

    def _inputs(self, X: Any) -> Inputs:
        """Checked inputs of a prediction."""
        check_is_fitted(self, "modules_")
        table = read_words(self, X, reset=False)
        return dense(validate_data(self, X, reset=False, **NUMBERS)) if table is None else table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def read_rows(
    estimator: MixupEstimator, X: Any, y: Any, *, first: bool, **options: Any
) -> tuple[Inputs, Any]:
    """X and y of a training, as scikit-learn checks them; ``options`` are those of its check of y."""
    least = 1 + first
    table = read_words(estimator, X, reset=first)
    if table is None:
        X, y = validate_data(estimator, X, y, reset=first, ensure_min_samples=least, **NUMBERS, **options)
        return dense(X), y
    placeholder = np.zeros((len(table), 1))
    _, y = check_X_y(placeholder, y, estimator=estimator, ensure_min_samples=least, **options)
    return table, y


def read_words(estimator: MixupEstimator, X: Any, *, reset: bool) -> Inputs | None:
    """A data frame as a table; None where X is to be read as a matrix of numbers.

    Of arrays, words are taken only where the estimator was fitted on a data frame with words.
    """
    frame = hasattr(X, "columns") and hasattr(X, "dtypes")
    words = not reset and any(column.kind == "category" for column in estimator.preprocessing_.columns)
    if not frame and not words:
        return None
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if len(X) == 0:
        raise ValueError("X must have a row or more, got 0 sample(s)")
    return read_table(X) if frame else np.asarray(X, dtype=object)


def dense(X: Any) -> Array:
    """The same matrix without sparsity, row by row: sums then round alike, whatever kind of matrix came."""
    return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X)
