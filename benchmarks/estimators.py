"""``python -m benchmarks estimators``: the estimators without tuning against those of scikit-learn.

Every score goes to ``docs/estimators.json`` and the tables of them into ``docs/estimators.md``.
Defaults were chosen on splits with other seeds (100 and above) than the five that are reported (0 to 4).
"""

from __future__ import annotations

import warnings
from statistics import fmean
from typing import TYPE_CHECKING, Any

import sklearn
import torch
from joblib import Parallel, delayed
from rich.progress import track
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import markdown_table
from tailormix.integrations.sklearn import MixupClassifier, MixupRegressor
from tailormix.metrics import accuracy, coverage, ece, rmse

if TYPE_CHECKING:
    from collections.abc import Callable

    Score = dict[str, Any]

MARKS = ("<!-- tables: python -m benchmarks estimators -->", "<!-- end of tables -->")
TEST, LEVEL = 0.25, 0.9
CLASSES = {"digits": load_digits, "breast cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris}
REAL = {"diabetes": load_diabetes}


def scaled(model: Any) -> Any:
    """The model behind a scaler of its inputs."""
    return make_pipeline(StandardScaler(), model)


def target_scaled(model: Any) -> Any:
    """The model behind scalers of inputs and targets."""
    return TransformedTargetRegressor(scaled(model), transformer=StandardScaler())


CLASSIFIERS: dict[str, Callable[[int], Any]] = {
    'MixupClassifier("sk-mixup")': lambda seed: MixupClassifier("sk-mixup", random_state=seed),
    "MLPClassifier()": lambda seed: MLPClassifier(random_state=seed),
    "RandomForestClassifier()": lambda seed: RandomForestClassifier(random_state=seed),
    "MLPClassifier(), scaled inputs": lambda seed: scaled(MLPClassifier(random_state=seed)),
}
REGRESSORS: dict[str, Callable[[int], Any]] = {
    'MixupRegressor("sk-mixup")': lambda seed: MixupRegressor("sk-mixup", random_state=seed),
    "MLPRegressor(), scaled inputs and targets": lambda seed: target_scaled(MLPRegressor(random_state=seed)),
    "MLPRegressor(), scaled inputs": lambda seed: scaled(MLPRegressor(random_state=seed)),
}


def classify(data: str, model: str, seed: int) -> Score:
    """NLL, ECE and accuracy on a quarter of the rows; NLL clips probabilities as scikit-learn does."""
    X, y = CLASSES[data](return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=TEST, stratify=y, random_state=seed)
    found = CLASSIFIERS[model](seed).fit(X, y).predict_proba(X_test)
    scores = {"nll": log_loss(y_test, found), "ece": ece(found, y_test), "accuracy": accuracy(found, y_test)}
    return {"data": data, "model": model, "seed": seed, **scores}


def regress(data: str, model: str, seed: int) -> Score:
    """RMSE, and coverage of 90 % intervals; a peer's deviation is that of its residuals on training rows."""
    X, y = REAL[data](return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=TEST, random_state=seed)
    fitted = REGRESSORS[model](seed).fit(X, y)
    if isinstance(fitted, MixupRegressor):
        mean, std = fitted.predict(X_test, return_std=True)
    else:
        mean = fitted.predict(X_test)
        std = (y - fitted.predict(X)).std() + 0 * mean
    scores = {"rmse": rmse(mean, y_test), "coverage": coverage(mean, std, y_test, level=LEVEL)}
    return {"data": data, "model": model, "seed": seed, "width": float(std.mean()), **scores}


def run(seeds: int, *, workers: int = 1, quick: bool = False) -> dict[str, Any]:
    """Scores of every model on every data set, one record per seed; ``quick`` takes the smallest data."""
    names = (["iris"], list(REAL)) if quick else (list(CLASSES), list(REAL))
    jobs: list[tuple[Callable[[str, str, int], Score], str, str, int]] = [
        (score, data, model, seed)
        for score, data_sets, models in ((classify, names[0], CLASSIFIERS), (regress, names[1], REGRESSORS))
        for data in data_sets
        for model in models
        for seed in range(seeds)
    ]
    work = Parallel(workers, return_as="generator")(delayed(_quietly)(*job) for job in jobs)
    records = list(track(work, "estimators", total=len(jobs)))
    versions = {"scikit-learn": sklearn.__version__, "torch": torch.__version__}
    return {"seeds": seeds, "test": TEST, "versions": versions, "records": records}


def _quietly(score: Callable[[str, str, int], Score], data: str, model: str, seed: int) -> Score:
    """With one thread per process, and no warnings about the peers' 200 epochs, which are their default."""
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return score(data, model, seed)


def insert_tables(page: str, results: dict[str, Any]) -> str:
    """The page with new tables between the two marks."""
    if any(page.count(mark) != 1 for mark in MARKS):
        raise ValueError(f"the page must hold each of {MARKS} once")
    before, rest = page.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    return f"{before}{MARKS[0]}\n\n{tables(results)}\n\n{MARKS[1]}{after}"


def tables(results: dict[str, Any]) -> str:
    """Classification: one table per metric, with the mean over data sets. Regression: one table."""
    classes = [row for row in results["records"] if "nll" in row]
    real = [row for row in results["records"] if "rmse" in row]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    share = f"a share of {results['test']:g} of the rows for testing"
    titles = {"nll": "NLL, lower is better", "ece": "ECE, lower is better", "accuracy": "Accuracy"}
    return "\n\n".join(
        [
            f"Means over {results['seeds']} splits, {share}; {versions}.",
            *(_classification_table(title, classes, metric) for metric, title in titles.items()),
            _regression_table(real),
        ]
    )


def _classification_table(title: str, scores: list[Score], metric: str) -> str:
    data = _values(scores, "data")
    lines = []
    for model in _values(scores, "model"):
        means = [_mean(scores, metric, model=model, data=name) for name in data]
        lines.append([_shown(model), *(f"{value:.3f}" for value in (*means, fmean(means)))])
    return markdown_table([title, *data, "mean"], lines)


def _regression_table(scores: list[Score]) -> str:
    lines = []
    for model in _values(scores, "model"):
        gap = fmean(abs(row["coverage"] - LEVEL) for row in scores if row["model"] == model)
        error, covered = (_mean(scores, metric, model=model) for metric in ("rmse", "coverage"))
        lines.append([_shown(model), f"{error:.1f}", f"{covered:.3f}", f"{gap:.3f}"])
    header = ["diabetes", "RMSE", "coverage of 90 % intervals", "mean distance from 0.9"]
    return markdown_table(header, lines)


def _mean(scores: list[Score], metric: str, **where: str) -> float:
    return fmean(row[metric] for row in scores if all(row[key] == value for key, value in where.items()))


def _values(scores: list[Score], key: str) -> list[str]:
    return list(dict.fromkeys(row[key] for row in scores))


def _shown(model: str) -> str:
    """The call as code, what was done to the data as text."""
    call, comma, how = model.partition(", ")
    return f"`{call}`{comma}{how}"
