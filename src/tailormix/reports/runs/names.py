"""Names of data sets, models, methods and settings as a person would write them."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: data sets whose names are not merely capitalised words
DATA = {
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "cifar10-c": "CIFAR-10-C",
    "cifar100-c": "CIFAR-100-C",
    "imagenet": "ImageNet",
    "imagenet-r": "ImageNet-R",
    "imagenet-a": "ImageNet-A",
    "tiny-imagenet": "Tiny ImageNet",
    "fashion-mnist": "Fashion-MNIST",
}
MODELS = {
    "mlp": "MLP",
    "vit-s16": "ViT-S/16",
    "vit-tiny": "ViT-Tiny",
    "fcn3": "FCN3",
    "lstnet-skip": "LSTNet with skip",
    "lstnet-attention": "LSTNet with attention",
}
#: parts of method names that are not merely capitalised
METHOD_PARTS = {
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
#: methods that keep their hyphen
HYPHENATED = ("mixup-io", "mixup-to", "mit-l", "mit-a", "c-mixup", "k-mixup", "two-beta")
SYMBOLS = {
    "tau_max": "τ_max",
    "tau_std": "τ_std",
    "tau_max_targets": "τ_max of targets",
    "tau_std_targets": "τ_std of targets",
    "alpha": "α",
    "tau": "τ",
    "sigma": "σ",
}
PLAIN = "erm"


def data_title(data: Mapping[str, Any]) -> str:
    """The name of a data set; the user's own files are called what the file is called.

    >>> data_title({"name": "cifar10"}), data_title({"name": "exchange-rate"})
    ('CIFAR-10', 'Exchange Rate')
    >>> data_title({"name": "csv", "path": "tables/wine.csv"}), data_title({"name": "my/data.py:birds"})
    ('wine.csv', 'birds')
    """
    name = str(data["name"])
    if isinstance(data.get("path"), str):
        return PurePath(data["path"]).name or name
    return DATA.get(name) or _plain_title(name)


def model_title(name: str) -> str:
    """The name of a model.

    >>> [model_title(name) for name in ("resnet8", "vit-s16", "mlp", "timm:convnext_tiny", "nets.py:Small")]
    ['ResNet-8', 'ViT-S/16', 'MLP', 'convnext_tiny', 'Small']
    """
    depth = re.fullmatch(r"resnet(\d+)", name)
    return f"ResNet-{depth[1]}" if depth else MODELS.get(name) or _after_colon(name)


def method_title(name: str) -> str:
    """The name of a method as the paper writes it.

    >>> [method_title(name) for name in ("erm", "sk-regmixup", "mixup-io", "mit-a", "own.py:Mine")]
    ['ERM', 'SK RegMixup', 'Mixup-IO', 'MIT-A', 'Mine']
    """
    if ":" in name:
        return _after_colon(name)
    parts = (METHOD_PARTS.get(part, part.capitalize()) for part in name.split("-"))
    return ("-" if name in HYPHENATED else " ").join(parts)


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


def listed(words: Sequence[str]) -> str:
    """Words in a sentence.

    >>> listed(["Mixup"]), listed(["ERM", "Mixup", "SK Mixup"])
    ('Mixup', 'ERM, Mixup and SK Mixup')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def compared(methods: Sequence[str]) -> str:
    """What an experiment compares, from the methods' names in the registry.

    >>> compared(["erm", "sk-mixup"]), compared(["mixup", "sk-mixup"]), compared(["mixup"])
    ('SK Mixup against plain training', 'Mixup and SK Mixup', 'Mixup')
    >>> compared(["erm"]), compared(["erm", *"abcde"]), compared(["mixup"] * 9)
    ('plain training', '5 methods against plain training', 'Mixup in 9 settings')
    """
    others = [name for name in dict.fromkeys(methods) if name != PLAIN]
    if len(set(methods)) == 1:
        name = method_title(others[0]) if others else "plain training"
        return name if len(methods) == 1 else f"{name} in {len(methods)} settings"
    named = listed([method_title(name) for name in others]) if len(others) < 5 else f"{len(others)} methods"
    return f"{named} against plain training" if PLAIN in methods else named


def _plain_title(name: str) -> str:
    return (
        " ".join(word[:1].upper() + word[1:] for word in name.split("-"))
        if ":" not in name
        else _after_colon(name)
    )


def _after_colon(name: str) -> str:
    """Plug-ins and models of other packages are called by what stands after the colon."""
    return name.rpartition(":")[2]
