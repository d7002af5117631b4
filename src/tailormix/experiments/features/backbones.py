"""Backbones: models that turn texts or images into features, by a name, a folder or a file."""

from __future__ import annotations

import hashlib
import inspect
import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import nn
from torch.nn import functional

from tailormix import checks, models
from tailormix.data.files.location import check_file, unusable
from tailormix.data.pixels import IMAGENET_MEAN_STD, normalisation
from tailormix.embeddings import embed
from tailormix.experiments import plugins
from tailormix.experiments.exporting import FACTS
from tailormix.models.registry import MODELS, TIMM_PREFIX
from tailormix.models.text_encoder import mean_of_tokens
from tailormix.models.timm_models import timm_model
from tailormix.pretrained import pretrained

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

Kind = Literal["texts", "images"]
OURS = "mobilenetv2"
DEFAULT_SIZE = 96


@dataclass(frozen=True, eq=False)
class Backbone:
    """A model with what it needs to be told of again: ``encode`` maps a batch to features (n, ...).

    A batch is a list of texts, or images (n, channels, ``size``, ``size``): normalised by ``mean`` and
    ``std`` if these are given, else bytes from 0 to ``maximum``. ``sha256`` is that of all weights, or of the
    code where there are none.
    """

    name: str
    encode: Callable[[Any], Tensor]
    sha256: str | None
    size: int = DEFAULT_SIZE
    mean: Sequence[float] | None = None
    std: Sequence[float] | None = None
    maximum: int = 255

    def facts(self, kind: Kind) -> dict[str, Any]:
        """What a file of features records of it."""
        image = {"size": self.size, "mean": self.mean, "std": self.std} if kind == "images" else {}
        return {"model": self.name, "weights sha256": self.sha256, **image}

    @torch.no_grad()
    def __call__(self, batch: Any) -> Tensor:
        """Features (n, d) on the CPU, float32."""
        n = len(batch)
        found: Any = self.encode(self.normalised(batch) if isinstance(batch, torch.Tensor) else batch)
        if not isinstance(found, torch.Tensor) or found.dim() < 2 or len(found) != n:
            told = tuple(found.shape) if isinstance(found, torch.Tensor) else type(found).__name__
            raise ValueError(f"model {self.name} must return features of shape ({n}, d), got {told}")
        features: Tensor = found.flatten(1).float().cpu()
        if not features.isfinite().all():
            raise ValueError(f"model {self.name} returned features that are not finite")
        return features

    def normalised(self, images: Tensor) -> Tensor:
        """Bytes (n, channels, H, W) as (n, 3, size, size), normalised; grey images get three channels."""
        x = images.float()
        x = x.expand(-1, 3, -1, -1) if self.mean is not None and x.shape[1] == 1 else x
        if x.shape[2:] != (self.size, self.size):
            x = functional.interpolate(x, (self.size, self.size), mode="bilinear", antialias=True)
        if self.mean is None or self.std is None:
            return (x * (self.maximum / 255)).round().clamp(0, self.maximum).to(torch.uint8)
        scale, shift = normalisation(self.mean, self.std)
        return x * scale + shift


def load_backbone(name: str, kind: Kind, *, weights: Path | None = None, size: int | None = None) -> Backbone:
    """The backbone ``name`` for texts or images.

    ``mobilenetv2`` with a file of ``weights``; ``timm:NAME``; a program of ``tailormix export`` or of
    ``torch.export`` (``.pt2``); a plug-in, ``file.py:name``, that is or builds a module, or is a function of
    a batch; else a folder or name that transformers can load.
    """
    if size is not None:
        checks.integer("size", size, at_least=1)
    if weights is not None and name != OURS:
        raise ValueError(f"--weights is for {OURS}, got it with --model {name}")
    if plugins.is_plugin(name):
        return _plugin(name, kind, size)
    if kind == "images":
        if name == OURS:
            return _mobilenet(weights, size)
        if name.startswith(TIMM_PREFIX):
            return _timm(name, size)
        if Path(name).suffix == ".pt2":
            return _program(Path(name), size)
    if name in MODELS or name.startswith(TIMM_PREFIX) or Path(name).suffix == ".pt2":
        known = f"{OURS}, timm:NAME, a .pt2 file, " if kind == "images" else ""
        raise ValueError(
            f"--model must be one for {kind}: {known}file.py:name, or a folder or name of transformers; "
            f"got {name!r}"
        )
    return _text_transformer(name) if kind == "texts" else _image_transformer(name, size)


def weights_sha256(module: nn.Module) -> str:
    """SHA-256 of the names and bytes of all weights and buffers."""
    digest = hashlib.sha256()
    for key, tensor in sorted(module.state_dict().items()):
        digest.update(key.encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _image_backbone(
    name: str, module: nn.Module, encode: Callable[[Any], Tensor], size: int | None, **constants: Any
) -> Backbone:
    mean, std = constants.get("mean"), constants.get("std")
    mean, std = (mean, std) if mean is not None and std is not None else IMAGENET_MEAN_STD
    return Backbone(name, encode, weights_sha256(module), size or DEFAULT_SIZE, tuple(mean), tuple(std))


def _mobilenet(weights: Path | None, size: int | None) -> Backbone:
    if weights is None:
        raise ValueError(f"--model {OURS} needs --weights FILE: without weights its features mean nothing")
    model = models.build(OURS, weights=weights, num_classes=1).eval()
    return _image_backbone(OURS, model, lambda x: embed(model, x), size)


def _timm(name: str, size: int | None) -> Backbone:
    model = timm_model(name.removeprefix(TIMM_PREFIX), pretrained=True, num_classes=0).eval()
    cfg: Any = getattr(model, "pretrained_cfg", None) or {}
    side = size or (cfg.get("input_size") or (3, DEFAULT_SIZE, DEFAULT_SIZE))[-1]
    return _image_backbone(name, model, model, side, mean=cfg.get("mean"), std=cfg.get("std"))


def _program(path: Path, size: int | None) -> Backbone:
    """Our programs say in their facts what goes in, bytes of one size; others get normalised images."""
    check_file(path, "a program of torch.export")
    extra = {FACTS: ""}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.export.load(path, extra_files=extra).module()
        inputs = json.loads(extra[FACTS])["inputs"] if extra[FACTS] else None
    except Exception as error:  # torch raises many kinds, private ones among them
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise unusable(path, "a program of torch.export", first) from error

    def encode(x: Any) -> Tensor:
        found = program(x)
        first: Tensor = found[0] if isinstance(found, tuple) else found
        return first

    if inputs is None:
        return _image_backbone(str(path), program, encode, size)
    if inputs["kind"] != "image":
        raise unusable(path, "a program for images", f"one for inputs of kind {inputs['kind']}")
    side, maximum = int(inputs["shape"][-1]), int(inputs["maximum"])
    return Backbone(str(path), encode, weights_sha256(program), side, maximum=maximum)


def _plugin(name: str, kind: Kind, size: int | None) -> Backbone:
    """A module, a class or function without needed arguments that makes one, or a function of a batch."""
    found = plugins.find(name)
    if not isinstance(found, nn.Module):
        parameters = plugins.parameters(name).values()
        needed = [p for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
        if inspect.isclass(found) or not needed:
            found = plugins.call(name, found, {})
    if not callable(found):
        raise plugins.PluginError(f"plug-in {name} must be callable, got {type(found).__name__}")
    module = found.eval() if isinstance(found, nn.Module) else None
    sha256 = plugins.record(name)["sha256"] if module is None else weights_sha256(module)

    def encode(batch: Any) -> Any:
        try:
            return found(batch)
        except (Exception, SystemExit) as error:  # the code of the user may raise anything
            text = " ".join(str(error).split())
            raise plugins.PluginError(f"plug-in {name}: it raised {type(error).__name__}: {text}") from error

    if kind == "texts":
        return Backbone(name, encode, sha256)
    return Backbone(name, encode, sha256, size or DEFAULT_SIZE, *IMAGENET_MEAN_STD)


def _text_transformer(name: str) -> Backbone:
    """The mean over the tokens' last states, of length 1, as sentence encoders are trained for."""
    model, tokenizer = pretrained("AutoModel", name).eval(), pretrained("AutoTokenizer", name)
    longest = min(int(tokenizer.model_max_length), int(getattr(model.config, "max_position_embeddings", 512)))

    def encode(texts: Any) -> Tensor:
        tokens = tokenizer(
            list(texts), padding=True, truncation=True, max_length=longest, return_tensors="pt"
        )
        hidden = model(**tokens).last_hidden_state
        return functional.normalize(mean_of_tokens(hidden, tokens["attention_mask"]), dim=1)

    return Backbone(name, encode, weights_sha256(model))


def _image_transformer(name: str, size: int | None) -> Backbone:
    """The pooled output where the model has one, else the mean over its positions."""
    model, processor = pretrained("AutoModel", name).eval(), pretrained("AutoImageProcessor", name)
    sides = dict(getattr(processor, "crop_size", None) or getattr(processor, "size", None) or {})
    side = size or sides.get("height") or sides.get("shortest_edge") or DEFAULT_SIZE

    def encode(x: Any) -> Tensor:
        found = model(pixel_values=x)
        pooled: Tensor | None = getattr(found, "pooler_output", None)
        if pooled is not None:
            return pooled.flatten(1)
        hidden: Tensor = found.last_hidden_state
        return hidden.mean(1) if hidden.dim() == 3 else hidden.mean((2, 3))

    constants = {key: getattr(processor, f"image_{key}", None) for key in ("mean", "std")}
    return _image_backbone(name, model, encode, side, **constants)
