"""The estimators in a scikit-learn program: a search over settings, calibrated predictions.

Run ``python examples/estimators.py``; ``--rows`` and ``--epochs`` make it shorter.
"""

from __future__ import annotations

import argparse

from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import GridSearchCV, train_test_split

from tailormix.integrations.sklearn import MixupClassifier, MixupRegressor
from tailormix.metrics import accuracy, coverage, ece, nll, rmse


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=None, help="use this many rows of each data set")
    parser.add_argument("--epochs", type=int, default=40)
    options = parser.parse_args(arguments)
    classify(options.rows, options.epochs)
    regress(options.rows, options.epochs)


def classify(rows: int | None, epochs: int) -> None:
    """Search tau_std on the training rows, then ask for probabilities."""
    X, y = load_wine(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, train_size=rows, stratify=y, random_state=0)
    grid = {"method_options": [{"tau_std": value} for value in (0.25, 1.0)]}
    model = MixupClassifier("sk-mixup", max_iter=epochs, random_state=0)
    search = GridSearchCV(model, grid, scoring="neg_log_loss", cv=2).fit(X, y)
    probabilities = search.predict_proba(X_test)
    print(f"wine: {search.best_params_}, temperature {search.best_estimator_.temperature_:.2f}")
    scores = {metric.__name__: metric(probabilities, y_test) for metric in (accuracy, nll, ece)}
    print("  " + " · ".join(f"{name} {value:.3f}" for name, value in scores.items()))


def regress(rows: int | None, epochs: int) -> None:
    """Ask for a mean and a standard deviation, and for an interval."""
    X, y = load_diabetes(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, train_size=rows, random_state=0)
    model = MixupRegressor(max_iter=epochs, random_state=0).fit(X, y)
    mean, std = model.predict(X_test, return_std=True)
    low, high = model.predict_interval(X_test[:1], coverage=0.9)
    print(f"diabetes: rmse {rmse(mean, y_test):.1f}, coverage {coverage(mean, std, y_test, level=0.9):.2f}")
    print(f"  the first: {mean[0]:.0f}, with 90 % confidence between {low[0]:.0f} and {high[0]:.0f}")


if __name__ == "__main__":
    main()
