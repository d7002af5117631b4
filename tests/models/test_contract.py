"""What every model promises: its layers are where it says, and each fires once a pass."""

from collections import Counter
from typing import Any

import pytest
import torch
from torch import nn

from tailormix.models import MODELS, build
from tiny_bert import WIDTH, tiny_bert

SMALL: dict[str, dict[str, Any]] = {
    "resnet8": {"base_width": 4},
    "resnet20": {"base_width": 4},
    "resnet18": {"base_width": 4},
    "resnet34": {"base_width": 4, "stem": "imagenet"},
    "resnet50": {"base_width": 4},
    "resnet101": {"base_width": 4, "stem": "imagenet"},
    "vit-s16": {"image_size": 32},
    "vit-tiny": {"image_size": 16},
    "mobilenetv2": {},
    "fcn3": {},
    "lstnet-skip": {"series": 3},
    "lstnet-attention": {"series": 3},
    "text-encoder": {},
    "mlp": {"hidden": (6, 5)},
}
INPUTS = {
    "vit-s16": (3, 32, 32),
    "fcn3": (5,),
    "mlp": (2,),
    "text-encoder": (6, WIDTH + 1),
    **dict.fromkeys(("lstnet-skip", "lstnet-attention"), (168, 3)),
}
CONVOLUTIONAL = [name for name in SMALL if name.startswith("resnet")]


def small_model(name: str) -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    shape = INPUTS.get(name, (3, 16, 16))
    options = {"path": str(tiny_bert())} if name == "text-encoder" else SMALL[name]
    return build(name, **options).eval(), torch.randn(4, *shape)


@pytest.mark.parametrize("name", MODELS)
def test_layers_fire_once_in_order(name: str) -> None:
    model, x = small_model(name)
    fired: list[str] = []
    rows: list[torch.Size] = []
    for stage in model.stages:
        module = model.get_submodule(stage)
        module.register_forward_hook(lambda *_, stage=stage: fired.append(stage))
    head = model.get_submodule(model.embedding_layer)
    assert isinstance(head, nn.Linear)
    head.register_forward_pre_hook(lambda _, args: rows.append(args[0].shape))
    out = model(x)
    assert fired == list(model.stages)
    assert rows == [torch.Size((4, head.in_features))]
    assert out.shape == (4, head.out_features)


@pytest.mark.parametrize("name", SMALL)
def test_stage_outputs_reach_the_logits(name: str) -> None:
    """What a stage returns is what the rest of the model works on: replacing it changes every row."""
    model, x = small_model(name)
    clean = model(x)
    for stage in model.stages:
        handle = model.get_submodule(stage).register_forward_hook(lambda _m, _a, out: out.flip(0) + 1)
        changed = model(x)
        handle.remove()
        assert (changed - clean).abs().amax(dim=1).min() > 0, stage


@pytest.mark.parametrize("name", SMALL)
def test_rows_are_independent_and_every_weight_learns(name: str) -> None:
    model, x = small_model(name)
    torch.testing.assert_close(model(x)[:2], model(x[:2]), atol=1e-5, rtol=1e-4)
    model(x).square().sum().backward()
    without = [key for key, p in model.named_parameters() if p.grad is None]
    assert without == []


@pytest.mark.parametrize("name", CONVOLUTIONAL)
def test_channels_last_all_the_way(name: str) -> None:
    model, x = small_model(name)
    expected = model(x)
    model = model.to(memory_format=torch.channels_last)
    last = model.get_submodule(model.stages[-1])
    layouts: list[bool] = []
    last.register_forward_hook(
        lambda _m, args, _o: layouts.append(args[0].is_contiguous(memory_format=torch.channels_last))
    )
    torch.testing.assert_close(model(x.to(memory_format=torch.channels_last)), expected, atol=1e-4, rtol=1e-4)
    assert layouts == [True]


@pytest.mark.parametrize("name", ["resnet8", "resnet50", "resnet34", "vit-tiny", "fcn3", "mlp"])
def test_compiles_into_one_graph(name: str) -> None:
    torch.compiler.reset()
    model, x = small_model(name)
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x), model(x))


@pytest.mark.parametrize(("name", "sites"), [("fcn3", 1), ("lstnet-skip", 3), ("lstnet-attention", 3)])
def test_dropout_sites(name: str, sites: int) -> None:
    """Each site is a module that fires once a pass with p = 0.2."""
    model, x = small_model(name)
    fired: Counter[int] = Counter()
    found = [module for module in model.modules() if isinstance(module, nn.Dropout)]
    for module in found:
        module.register_forward_hook(lambda module, *_: fired.update([id(module)]))
    model(x)
    assert [module.p for module in found] == [0.2] * sites
    assert list(fired.values()) == [1] * sites
