"""``python -m benchmarks.estimators``: the estimators without tuning against those of scikit-learn.

Writes every score to ``docs/estimators.json`` and the tables made of it into ``docs/estimators.md``.
Defaults were chosen on splits with other seeds (100 and above) than the five that are reported (0 to 4).
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
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

from benchmarks.estimators_page import LEVEL, insert
from tailormix.atomic import write_atomically
from tailormix.integrations.sklearn import MixupClassifier, MixupRegressor
from tailormix.metrics import accuracy, coverage, ece, rmse

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.record import Record

HERE = Path(__file__).parents[1] / "docs"
TEST = 0.25
CLASSES = {"digits": load_digits, "breast cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris}
REAL = {"diabetes": load_diabetes}


def scaled(model: Any) -> Any:
    """The model behind a scaler of its inputs."""
    return make_pipeline(StandardScaler(), model)


def target_scaled(model: Any) -> Any:
    """The model behind scalers of inputs and targets."""
    return TransformedTargetRegressor(scaled(model), transformer=StandardScaler())


CLASSIFIERS: dict[str, Callable[[int], Any]] = {
    "MixupClassifier()": lambda seed: MixupClassifier(random_state=seed),
    "MLPClassifier()": lambda seed: MLPClassifier(random_state=seed),
    "RandomForestClassifier()": lambda seed: RandomForestClassifier(random_state=seed),
    "MLPClassifier(), scaled inputs": lambda seed: scaled(MLPClassifier(random_state=seed)),
}
REGRESSORS: dict[str, Callable[[int], Any]] = {
    "MixupRegressor()": lambda seed: MixupRegressor(random_state=seed),
    "MLPRegressor(), scaled inputs and targets": lambda seed: target_scaled(MLPRegressor(random_state=seed)),
    "MLPRegressor(), scaled inputs": lambda seed: scaled(MLPRegressor(random_state=seed)),
}


def classify(data: str, model: str, seed: int) -> Record:
    """NLL, ECE and accuracy on a quarter of the rows; NLL clips probabilities as scikit-learn does."""
    X, y = CLASSES[data](return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=TEST, stratify=y, random_state=seed)
    found = CLASSIFIERS[model](seed).fit(X, y).predict_proba(X_test)
    scores = {"nll": log_loss(y_test, found), "ece": ece(found, y_test), "accuracy": accuracy(found, y_test)}
    return {"data": data, "model": model, "seed": seed, **scores}


def regress(data: str, model: str, seed: int) -> Record:
    """RMSE, and coverage of 90 % intervals; a peer's spread is that of its residuals on training rows."""
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
    """Scores of every model on every data set, one record a seed; ``quick`` takes the smallest data only."""
    names = (["iris"], list(REAL)) if quick else (list(CLASSES), list(REAL))
    jobs: list[tuple[Callable[[str, str, int], Record], str, str, int]] = [
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


def _quietly(score: Callable[[str, str, int], Record], data: str, model: str, seed: int) -> Record:
    """One thread a process, and no warnings about the peers' 200 passes, which are their default."""
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return score(data, model, seed)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.estimators", description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE / "estimators.json", help="file for the scores")
    parser.add_argument("--page", type=Path, default=HERE / "estimators.md", help="page with the tables")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--quick", action="store_true", help="the smallest data only, to see that it runs")
    parser.add_argument("--tables-only", action="store_true", help="make the tables of scores that are there")
    options = parser.parse_args(arguments)
    if not options.tables_only:
        results = run(options.seeds, workers=options.jobs, quick=options.quick)
        write_atomically(options.out, json.dumps(results, indent=1) + "\n")
    results = json.loads(options.out.read_text(encoding="utf-8"))
    write_atomically(options.page, insert(options.page.read_text(encoding="utf-8"), results))


if __name__ == "__main__":
    main()
