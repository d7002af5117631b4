"""MixupRegressor: predictions with a calibrated spread for tables of numbers."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Self, cast, final

import numpy as np
import torch
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from tailormix import checks
from tailormix.calibration.dropout import predict
from tailormix.calibration.ensemble import gaussian_mixture
from tailormix.calibration.variance import fit_variance
from tailormix.integrations.sklearn.base import MixupEstimator, read_rows
from tailormix.integrations.sklearn.network import Problem
from tailormix.integrations.sklearn.options import methods_of, plain
from tailormix.objectives.mixed import squared_error
from tailormix.training.evaluating import has_dropout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt
    from sklearn.preprocessing import StandardScaler
    from torch import Tensor, nn

    from tailormix.integrations.sklearn.network import Inputs, Network
    from tailormix.method import Method

    Array = npt.NDArray[Any]

SMALLEST = 1e-6  # of a standardised target: units that never fire give a spread of 0


@final
class MixupRegressor(RegressorMixin, MixupEstimator):  # type: ignore[misc]
    """μ = f(x) ± √s · σ(x): f trained with RegMixup, σ by Monte Carlo dropout, s fitted on rows held out.

    Targets are standardised inside, from the rows of training; rows held out are spread over their range. The
    parameters are those of :class:`MixupClassifier`, but for ``class_weight`` and for these:

    Args:
        method: ``"auto"``, which is RegMixup with α = 0.05, a name of ``tailormix list methods``, or a
            ``Method``.
        module: a function (features after preprocessing, targets) → ``nn.Module``; by default an MLP.
        dropout: its share of units dropped.
        calibrate: whether to fit s; with fewer than 4 rows, or a module without dropout, ``fit`` raises
            before training.
        refit: train once more on all rows after s is known (never with early stopping or ``warm_start``).
        mc_samples: passes with dropout behind a spread.
        members: as of the classifier, but they answer as a mixture of Gaussians.

    Attributes:
        variance_scale_: s; 1 without calibration.
        modules_: the trained module of each member.
        preprocessing_: what makes their inputs from rows of numbers or words.
        target_scaler_: the scale of the targets.
        n_iter_, loss_curve_, validation_curve_: passes, and the losses of each, on the scale of the module.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> mean, std = MixupRegressor(max_iter=2, random_state=0).fit(X, y).predict(X[:3], return_std=True)
    >>> mean.shape, std.shape
    ((3,), (3,))

    """

    n_outputs_: int

    def __init__(
        self,
        method: str | Method = "auto",
        *,
        method_options: Mapping[str, Any] | None = None,
        module: Callable[[int, int], nn.Module] | None = None,
        hidden_layer_sizes: int | tuple[int, ...] = (128, 128),
        dropout: float = 0.4,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-2,
        batch_size: int = 32,
        max_iter: int = 40,
        early_stopping: bool = False,
        n_iter_no_change: int = 20,
        validation_fraction: float = 0.2,
        calibrate: bool = True,
        refit: bool = True,
        mc_samples: int = 50,
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
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.calibrate = calibrate
        self.refit = refit
        self.mc_samples = mc_samples
        self.warm_start = warm_start
        self.members = members
        self.random_state = random_state
        self.verbose = verbose

    def partial_fit(self, X: Any, y: Any) -> Self:
        """One pass over these rows. s stays as it was, at first 1."""
        return self._partial_fit(X, y, first=not hasattr(self, "modules_"))

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean of each row, shaped like y was; with ``return_std`` also its standard deviation.

        The mean is that of one pass without dropout, the same with and without ``return_std``. Each row has
        its own dropout, so a row's spread varies a little with its place among the rows.
        """
        X, network = self._inputs(X), self._network()
        scaler = cast("StandardScaler", network.target_scaler)
        if not return_std:
            return self._shaped(scaler.inverse_transform(_mean(network.outputs(X)).numpy()))
        mean, std = (moment.numpy() for moment in self._moments(network, X))
        std = std * math.sqrt(self.variance_scale_) * scaler.scale_
        return self._shaped(scaler.inverse_transform(mean)), self._shaped(std)

    def disagreement(self, X: Any) -> Array:
        """The standard deviation of the members' means, shaped like y was."""
        self._check_members()
        network = self._network()
        spread = network.outputs(self._inputs(X)).std(0, correction=0).numpy()
        return self._shaped(spread * cast("StandardScaler", network.target_scaler).scale_)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Lower and upper ends μ ∓ z σ of intervals that hold a share ``coverage`` of targets."""
        coverage = plain(coverage)
        if not 0 < checks.number("coverage", coverage) < 1:
            raise ValueError(f"coverage must lie in (0, 1), got {coverage}")
        mean, std = self.predict(X, return_std=True)
        reach = NormalDist().inv_cdf((1 + coverage) / 2) * std
        return mean - reach, mean + reach

    def _moments(self, network: Network, X: Inputs) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation (n, outputs) of the members' mixture, on the scale of the modules."""
        if not all(map(has_dropout, network.modules)):
            raise ValueError(
                "return_std needs dropout in the module, got none: set dropout > 0, or give a module with it"
            )
        modules, x = network.for_prediction(X)
        stds = [
            spread(module, x, seed, self._samples())
            for module, seed in zip(modules, self._seeds, strict=True)
        ]
        return gaussian_mixture(network.outputs(X), torch.stack(stds))

    def _samples(self) -> int:
        return checks.integer("mc_samples", plain(self.mc_samples), at_least=2)

    def _shaped(self, values: Array) -> Array:
        return values[:, 0] if self._one_column else values

    def _read(self, X: Any, y: Any, *, first: bool, incremental: bool) -> tuple[Inputs, Array]:
        del incremental
        X, y = read_rows(self, X, y, first=first, multi_output=True, y_numeric=True)
        y = column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y
        outputs = 1 if y.ndim == 1 else y.shape[1]
        if not first and outputs != self.n_outputs_:
            raise ValueError(f"y must stay of {self.n_outputs_} columns, got {outputs}")
        self.n_outputs_, self._one_column = outputs, y.ndim == 1
        return X, y.reshape(len(y), -1).astype(np.float64)

    def _problems(self, y: Array) -> dict[str, Problem]:
        self._samples()
        shape = squared_error, y.shape[1], None, _mean
        return {
            name: Problem(method, auto, *shape, needs_dropout=bool(self.calibrate))
            for name, (method, auto) in methods_of(self.method, self.method_options, None).items()
        }

    def _calibrate(self, network: Network, X: Inputs, y: Array) -> None:
        self.variance_scale_ = variance_scale(*self._moments(network, X), network.targets(y).double())

    def _skip_calibration(self) -> None:
        self.variance_scale_ = 1.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _mean(outputs: Tensor) -> Tensor:
    """The mean (n, outputs) of the members' (k, n, outputs)."""
    return outputs.mean(0)


def spread(module: nn.Module, x: Tensor, seed: int, samples: int) -> Tensor:
    """Standard deviation (n, outputs) of Monte Carlo dropout, never 0."""
    return predict(module, x, samples=samples, seed=seed).std.clamp(min=SMALLEST)


def variance_scale(mean: Tensor, std: Tensor, targets: Tensor) -> float:
    """mean((y − μ)² / σ²) as :class:`tailormix.calibration.VarianceScaling`, but 1 where all errors are 0.

    >>> import torch
    >>> variance_scale(torch.zeros(2, 1), torch.ones(2, 1), torch.tensor([[2.0], [-2.0]]))
    4.0
    """
    if bool((mean == targets).all()):
        return 1.0
    return fit_variance(mean, std, targets).scale
