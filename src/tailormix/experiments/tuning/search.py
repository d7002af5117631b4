"""A search, as data: what is tried on which folds, and what is wanted. Free of optuna."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tailormix.experiments.reading import name_of, read
from tailormix.experiments.record import SETTINGS
from tailormix.experiments.running import fingerprint
from tailormix.methods import METHODS
from tailormix.training.settings import Settings

from .space import Dimension, as_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tailormix.experiments.record import Experiment


#: settings that name test rows: the released protocol's selection, and further data sets to be judged on
TESTING = ("imitate", "also")


def without_test(experiment: Experiment) -> Experiment:
    """The same experiment without any setting that looks at test rows."""
    plain = {name: getattr(Settings(), name) for name in TESTING if name in SETTINGS}
    return replace(experiment, training=replace(experiment.training, **plain))


@dataclass(frozen=True)
class Search:
    """An experiment with settings on top, the space, the folds and the objective.

    >>> space = (Dimension("method.tau_std", (0.5, 1)),)
    >>> search = Search("moons", ("epochs=2",), space, ("1/10",), "accuracy")
    >>> search.experiment({"method.tau_std": 1}, "1/10").data.options
    {'fold': '1/10'}
    """

    name: str
    settings: tuple[str, ...]
    space: tuple[Dimension, ...]
    folds: tuple[str, ...]
    objective: str

    def experiment(self, values: Mapping[str, Any], fold: str | None = None) -> Experiment:
        """The experiment with these values, on all rows or on one fold."""
        settings = [*self.settings, *as_settings(values)]
        if fold is None:
            return read(self.name, settings)
        return without_test(read(self.name, [*settings, f"data.fold={fold}"]))

    @property
    def study(self) -> str:
        """The name of the study: the same search goes on, another one begins afresh."""
        base = self.experiment({})
        facts = [fingerprint(base), base.training.seed, [repr(each) for each in self.space]]
        text = json.dumps([*facts, self.folds, self.objective])
        return f"{name_of(self.name)}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def check(self) -> None:
        """Raise, before any work starts, if a searched key is none of the experiment's."""
        for each in self.space:
            for value in each.ends:
                self.experiment({each.key: value}, self.folds[0])

    def own_values(self) -> dict[str, Any] | None:
        """The experiment's values as they are, if the search holds them: a good first trial."""
        flat = self.experiment({}).flat()
        defaults = METHODS[flat["method"]["name"]].defaults
        found = {}
        for each in self.space:
            section, _, inner = each.key.partition(".")
            part = flat.get(section)
            default = defaults.get(inner) if section == "method" else None
            value = part.get(inner or "name", default) if isinstance(part, dict) else part
            if not each.holds(value):
                return None
            found[each.key] = value
        return found
