"""``python -m benchmarks estimators``: the estimators without tuning, plain training, and scikit-learn.

Every score goes to ``docs/estimators.json`` and the tables of them into ``docs/estimators.md``. Tables of
KEEL and UCI take part where the folder of data sets has them. Defaults were chosen on other splits than those
reported: on seeds of 100 and above, and on the splits 0 to 7 of UCI.
"""

from __future__ import annotations

import json
import time
import warnings
from collections import Counter
from functools import partial
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import sklearn
import torch
from joblib import Parallel, delayed
from rich.progress import track
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.harness import markdown_table, race, record
from tailormix.atomic import write_atomically
from tailormix.data.files.location import data_root
from tailormix.integrations.sklearn import MixupClassifier, MixupRegressor
from tailormix.metrics import accuracy, coverage, ece, gaussian_nll, rmse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from benchmarks.harness import Record

    Score = dict[str, Any]
    Job = tuple[str, str, str, int]  # task, data, model, seed
    Data = tuple[Any, Any, Any, Any]  # X, X of the test, y, y of the test

MARKS = ("<!-- tables: python -m benchmarks estimators -->", "<!-- end of tables -->")
TEST, LEVEL = 0.25, 0.9
BUNDLED = {"digits": load_digits, "breast cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris}
KEEL = (
    *("australian", "bands", "bupa", "german", "heart", "ionosphere"),
    *("led7digit", "pima", "sonar", "tae", "vehicle", "vowel"),
)
UCI = ("autompg", "concrete", "energy", "housing", "servo", "stock", "yacht")
PLAIN, MANY = 'method="erm"', "members=8"  # many members take part in the first split alone: they take long
QUICK = (PLAIN, 'method="sk-mixup"')


def prepared(model: Any) -> Any:
    """The model behind a scaler of numbers and one-hot columns of words."""
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((encoder, _words), remainder=StandardScaler())
    return make_pipeline(columns, model)


def _words(X: Any) -> list[Any]:
    """The columns of a data frame that are no numbers."""
    return list(X.select_dtypes(exclude="number")) if isinstance(X, pd.DataFrame) else []


CLASSIFIERS: dict[str, Callable[[int], Any]] = {
    'method="auto"': lambda seed: MixupClassifier("auto", random_state=seed),
    PLAIN: lambda seed: MixupClassifier("erm", random_state=seed),
    'method="erm", weight_decay=0.01': lambda seed: MixupClassifier(
        "erm", weight_decay=0.01, random_state=seed
    ),
    'method="sk-mixup"': lambda seed: MixupClassifier("sk-mixup", random_state=seed),
    'method="auto", members=8': lambda seed: MixupClassifier("auto", members=8, random_state=seed),
    "MLPClassifier()": lambda seed: prepared(MLPClassifier(random_state=seed)),
    "RandomForestClassifier()": lambda seed: prepared(RandomForestClassifier(random_state=seed)),
    "HistGradientBoostingClassifier()": lambda seed: prepared(
        HistGradientBoostingClassifier(random_state=seed)
    ),
}
REGRESSORS: dict[str, Callable[[int], Any]] = {
    'method="auto"': lambda seed: MixupRegressor("auto", random_state=seed),
    PLAIN: lambda seed: MixupRegressor("erm", random_state=seed),
    'method="sk-mixup"': lambda seed: MixupRegressor("sk-mixup", random_state=seed),
    'method="sk-regmixup"': lambda seed: MixupRegressor("sk-regmixup", random_state=seed),
    'method="auto", members=8': lambda seed: MixupRegressor("auto", members=8, random_state=seed),
    "MLPRegressor()": lambda seed: target_scaled(MLPRegressor(random_state=seed)),
    "RandomForestRegressor()": lambda seed: RandomForestRegressor(random_state=seed),
    "HistGradientBoostingRegressor()": lambda seed: HistGradientBoostingRegressor(random_state=seed),
}


def target_scaled(model: Any) -> Any:
    """The model behind scalers of inputs and targets."""
    return TransformedTargetRegressor(prepared(model), transformer=StandardScaler())


def classes(name: str, seed: int) -> Data:
    """A data set with classes, a quarter of its rows for testing."""
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
    else:
        frame = pd.read_csv(data_root() / "keel" / f"{name}.dat", header=None, skipinitialspace=True)
        X, y = frame.iloc[:, :-1].rename(columns=str), frame.iloc[:, -1].to_numpy()
    y = np.unique(y, return_inverse=True)[1]
    X, X_test, y, y_test = train_test_split(X, y, test_size=TEST, stratify=y, random_state=seed)
    return X, X_test, y, y_test


def reals(name: str, seed: int) -> Data:
    """A data set with a real target; of UCI the fixed splits 9, 8, 7, ..."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
        X, X_test, y, y_test = train_test_split(X, y, test_size=TEST, random_state=seed)
        return X, X_test, y, y_test
    folder = data_root() / "uci" / name
    table = np.loadtxt(folder / "data.csv.gz", delimiter=",")
    test = np.loadtxt(folder / "test_mask.csv.gz", delimiter=",")[:, 9 - seed] == 1
    return table[~test, :-1], table[test, :-1], table[~test, -1], table[test, -1]


def classify(data: str, model: str, seed: int) -> Score:
    """NLL, ECE and accuracy on the test rows; NLL clips probabilities as scikit-learn does."""
    X, X_test, y, y_test = classes(data, seed)
    fitted = CLASSIFIERS[model](seed).fit(X, y)
    found = fitted.predict_proba(X_test)
    scores = {"nll": log_loss(y_test, found), "ece": ece(found, y_test), "accuracy": accuracy(found, y_test)}
    return {**scores, "chosen": getattr(fitted, "method_", None)}


def regress(data: str, model: str, seed: int) -> Score:
    """RMSE and NLL of standardised targets, and coverage of 90 % intervals.

    The deviation of a peer is that of its errors on a fifth of the training rows, held out as ours are; then
    it is fitted on all of them.
    """
    X, X_test, y, y_test = reals(data, seed)
    y, y_test = (y - y.mean()) / y.std(), (y_test - y.mean()) / y.std()
    fitted = REGRESSORS[model](seed)
    if isinstance(fitted, MixupRegressor):
        mean, std = fitted.fit(X, y).predict(X_test, return_std=True)
    else:
        kept, held, y_kept, y_held = train_test_split(X, y, test_size=0.2, random_state=seed)
        error = rmse(fitted.fit(kept, y_kept).predict(held), y_held)
        mean = fitted.fit(X, y).predict(X_test)
        std = np.full_like(mean, error)
    scores = {"rmse": rmse(mean, y_test), "nll": gaussian_nll(mean, std, y_test)}
    return {**scores, "coverage": coverage(mean, std, y_test, level=LEVEL)}


TASKS: dict[str, tuple[Callable[[str, str, int], Score], dict[str, Callable[[int], Any]], Sequence[str]]] = {
    "classification": (classify, CLASSIFIERS, (*BUNDLED, *KEEL)),
    "regression": (regress, REGRESSORS, ("diabetes", *UCI)),
}


def run(path: Path, seeds: int, *, workers: int = 1, quick: bool = False) -> None:
    """Scores of every model on every data set to ``path``; a run that was interrupted is continued.

    Until all are there they are kept in a file beside it. ``quick`` takes small data and two models.
    """
    part = path.with_suffix(".part.json")
    records: list[Score] = json.loads(part.read_text(encoding="utf-8")) if part.exists() else []
    order = list(_jobs(seeds, quick))
    done = {_job(row) for row in records}
    jobs = [job for job in order if job not in done]
    work = Parallel(workers, return_as="generator_unordered")(delayed(_quietly)(*job) for job in jobs)
    for score in track(work, "estimators", total=len(jobs)):
        records.append(score)
        write_atomically(part, json.dumps(records))
    records = sorted((row for row in records if _job(row) in order), key=lambda row: order.index(_job(row)))
    versions = {"scikit-learn": sklearn.__version__, "torch": torch.__version__}
    results = {"seeds": seeds, "versions": versions, "records": records}
    write_atomically(path, json.dumps(results, indent=1) + "\n")
    part.unlink(missing_ok=True)


def _jobs(seeds: int, quick: bool) -> Iterator[Job]:
    for seed in range(seeds):
        for task, (_, models, names) in TASKS.items():
            taken = [model for model in models if MANY not in model or seed == 0]
            for data in names:
                if _present(data) and (not quick or data in ("iris", "diabetes")):
                    yield from ((task, data, model, seed) for model in (QUICK if quick else taken))


def _job(row: Score) -> Job:
    return row["task"], row["data"], row["model"], row["seed"]


def _present(data: str) -> bool:
    files = {**{name: f"keel/{name}.dat" for name in KEEL}, **{name: f"uci/{name}" for name in UCI}}
    return data not in files or (data_root() / files[data]).exists()


def _quietly(task: str, data: str, model: str, seed: int) -> Score:
    """With one thread per process, and no warnings about the peers' 200 epochs, which are their default."""
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.process_time()
        scores = TASKS[task][0](data, model, seed)
        seconds = round(time.process_time() - start, 3)
    return {"task": task, "data": data, "model": model, "seed": seed, **scores, "seconds": seconds}


def members(clock: str, quick: bool) -> list[Record]:
    """A fit of eight members beside a fit of one, on 5000 rows."""
    rows, passes = (100, 1) if quick else (5000, 10)
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, 20))
    real = X[:, 0] * X[:, 1] + random.normal(size=rows)
    records = []
    for name, kind, y in (
        ("MixupClassifier()", MixupClassifier, real > 0),
        ('MixupClassifier("erm")', partial(MixupClassifier, "erm"), real > 0),
        ("MixupRegressor()", MixupRegressor, real),
    ):
        one, eight = (kind(members=k, max_iter=passes, random_state=0) for k in (1, 8))
        fits = {"one member": partial(one.fit, X, y), "eight members": partial(eight.fit, X, y)}
        timings = race(fits, seconds=0.0, calls=1, clock=clock)
        size = f"{name}, {rows} rows, {passes} passes"
        records.append(record("members", size, "eight members", "one member", timings, at_most=2.0))
    return records


def insert_tables(page: str, results: dict[str, Any]) -> str:
    """The page with new tables between the two marks."""
    if any(page.count(mark) != 1 for mark in MARKS):
        raise ValueError(f"the page must hold each of {MARKS} once")
    before, rest = page.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    return f"{before}{MARKS[0]}\n\n{tables(results)}\n\n{MARKS[1]}{after}"


def tables(results: dict[str, Any]) -> str:
    """For each task its means, each data set, and where ours differ from plain training."""
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    parts = [f"{results['seeds']} splits of each data set; {versions}."]
    for task in TASKS:
        records = [row for row in results["records"] if row["task"] == task]
        metrics = [name for name in METRICS if name in records[0]]
        parts += [
            _summary(task, records, metrics),
            _each_set(records, metrics[0]),
            *_words_on(records, metrics[0]),
        ]
    return "\n\n".join(parts)


#: the first of a task is what its data sets are compared by
METRICS = {"rmse": "RMSE", "nll": "NLL", "ece": "ECE", "accuracy": "accuracy", "coverage": "coverage"}


def _summary(task: str, records: list[Score], metrics: Sequence[str]) -> str:
    """Means over data sets, differences from plain training, and CPU time as a multiple of its."""
    compared = [name for name in metrics if name != "coverage"]
    seconds = _mean(records, PLAIN, "seconds")
    lines = [
        [
            f"`{model}`",
            *(f"{_mean(records, model, metric):.3f}" for metric in metrics),
            *("" if model == PLAIN else _plus_minus(_differences(records, model, each)) for each in compared),
            f"{_mean(records, model, 'seconds') / seconds:.1f}×",
        ]
        for model in _values(records, "model")
    ]
    sets = len(_values(records, "data"))
    header = [f"{task}, {sets} data set{'s' * (sets > 1)}", *(METRICS[name] for name in metrics)]
    return markdown_table([*header, *(f"{METRICS[name]} − `erm`" for name in compared), "CPU time"], lines)


def _each_set(records: list[Score], metric: str) -> str:
    """One line per data set: plain training, and how far the other settings of ours are from it."""
    models, lines = _ours(records), []
    for data in _values(records, "data"):
        rows = [row for row in records if row["data"] == data]
        differences = (_plus_minus(_by_split(rows, model, metric)) for model in models)
        lines.append([data, f"{_mean(rows, PLAIN, metric):.3f}", *differences])
    header = [f"{METRICS[metric]}, and differences from `erm`", "`erm`", *(f"`{name}`" for name in models)]
    return markdown_table(header, lines)


def _words_on(records: list[Score], metric: str) -> list[str]:
    """Where settings of ours differ from plain training by more than two standard errors of the splits."""
    found = []
    for model in _ours(records):
        sides: dict[bool, list[str]] = {True: [], False: []}
        for data in _values(records, "data"):
            values = _by_split([row for row in records if row["data"] == data], model, metric)
            if len(values) > 1 and abs(fmean(values)) > 2 * _with_error(values)[1]:
                sides[fmean(values) > 0].append(data)
        worse, better = (", ".join(sides[side]) or "none" for side in (True, False))
        if MANY not in model:
            found.append(f"- `{model}`: worse on {worse}; better on {better}.")
    parts = [
        "\n".join([f"{METRICS[metric]} beyond two standard errors of the splits from `erm`:", "", *found])
    ]
    chosen = Counter(row["chosen"] for row in records if row["model"] == 'method="auto"' and "chosen" in row)
    if chosen:
        counts = ", ".join(f"{name} {count}" for name, count in chosen.most_common())
        parts.append(f'`method="auto"` took, in how many fits: {counts}.')
    return parts


def _ours(records: list[Score]) -> list[str]:
    """Our settings but for plain training."""
    return [name for name in _values(records, "model") if name.startswith("method=") and name != PLAIN]


def _by_split(records: list[Score], model: str, metric: str) -> list[float]:
    """The differences from plain training on the same split, of one data set."""
    plain = {row["seed"]: row[metric] for row in records if row["model"] == PLAIN}
    return [row[metric] - plain[row["seed"]] for row in records if row["model"] == model]


def _differences(records: list[Score], model: str, metric: str) -> list[float]:
    """The mean difference from plain training on each data set."""
    return [
        fmean(_by_split([row for row in records if row["data"] == data], model, metric))
        for data in _values(records, "data")
    ]


def _with_error(values: list[float]) -> tuple[float, float]:
    """The mean and its standard error."""
    return fmean(values), stdev(values) / len(values) ** 0.5


def _plus_minus(values: list[float]) -> str:
    """The mean with its standard error, which a single value does not have."""
    if len(values) == 1:
        return f"{values[0]:+.3f}"
    mean, error = _with_error(values)
    return f"{mean:+.3f} ± {error:.3f}"


def _mean(records: list[Score], model: str, key: str) -> float:
    return fmean(row[key] for row in records if row["model"] == model)


def _values(records: list[Score], key: str) -> list[str]:
    return list(dict.fromkeys(row[key] for row in records))
