"""What methods and settings are called on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

#: words that are not merely capitalised
WORDS = {
    "erm": "ERM",
    "sk": "SK",
    "io": "IO",
    "to": "TO",
    "mrl": "MRL",
    "mit": "MIT",
    "k": "k",
    "regmixup": "RegMixup",
    "rankmixup": "RankMixup",
    "cutmix": "CutMix",
}
#: beside these a hyphen stays
HYPHENED = ("mixup-io", "mixup-to", "mit-l", "mit-a", "c-mixup", "k-mixup", "two-beta")
SYMBOLS = {
    "tau_max": "τ_max",
    "tau_std": "τ_std",
    "tau_max_targets": "τ_max of targets",
    "tau_std_targets": "τ_std of targets",
    "alpha": "α",
    "tau": "τ",
    "sigma": "σ",
}


def method_title(name: str) -> str:
    """The name as the paper writes it.

    >>> [method_title(name) for name in ("erm", "sk-regmixup", "mixup-io", "mit-a", "two-beta")]
    ['ERM', 'SK RegMixup', 'Mixup-IO', 'MIT-A', 'Two-Beta']
    """
    words = (WORDS.get(word, word.capitalize()) for word in name.split("-"))
    return ("-" if name in HYPHENED else " ").join(words)


def settings_text(settings: Mapping[str, Any]) -> str:
    """Settings in a line.

    >>> settings_text({"tau_std": 0.5, "space": "input", "squared": False})
    'τ_std 0.5, space input, squared false'
    """
    return ", ".join(f"{SYMBOLS.get(key, key)} {value_text(value)}" for key, value in settings.items())


def value_text(value: Any) -> str:
    """A value as an experiment file would show it, sections in one line.

    >>> value_text({"name": "sgd", "lr": 0.1}), value_text([8, 8]), value_text(True)
    ('sgd (lr 0.1)', '8, 8', 'true')
    """
    if isinstance(value, dict):
        rest = settings_text({key: one for key, one in value.items() if key != "name"})
        return f"{value.get('name', '')} ({rest})" if rest else str(value.get("name", ""))
    if isinstance(value, (list, tuple)):
        return ", ".join(map(value_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
