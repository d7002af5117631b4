"""Any model of the timm library, where timm is installed."""

from __future__ import annotations

import importlib
from typing import Any

from torch import nn

from tailormix import checks


def timm_model(name: str, **arguments: Any) -> nn.Module:
    """Build ``timm.create_model(name)`` and note its embedding layer and stages where timm tells them.

    The embedding layer is the one ``get_classifier`` returns; the stages are those of ``feature_info``.
    """
    try:
        timm = importlib.import_module("timm")
    except ImportError as error:
        raise ImportError(
            f"models named timm:NAME need the package timm (pip install timm): {error}"
        ) from error
    if not timm.is_model(name.split(".", maxsplit=1)[0]):
        close = checks.closest(name, timm.list_models())
        hint = f"; did you mean {'timm:' + close!r}?" if close else ""
        raise ValueError(f"unknown model 'timm:{name}'{hint}")
    model = timm.create_model(name, **arguments)
    if not isinstance(model, nn.Module):
        raise TypeError(f"timm:{name} must be a torch module, got {type(model).__name__}")
    names = {id(module): layer for layer, module in model.named_modules()}
    get_classifier: Any = getattr(model, "get_classifier", lambda: None)
    classifier = get_classifier()
    if isinstance(classifier, nn.Linear) and id(classifier) in names:
        model.embedding_layer = names[id(classifier)]
    info = [entry["module"] for entry in getattr(model, "feature_info", ()) or ()]
    if stages := tuple(layer for layer in dict.fromkeys(info) if layer in names.values()):
        model.stages = stages  # type: ignore[assignment]
    return model
