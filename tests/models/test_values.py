"""Outputs against independent references: torch's own attention, and the formulas written out."""

import torch
from torch import nn

from tailormix.models.lstnet import Attention, LSTNet, Skip
from tailormix.models.resnet import ResNet
from tailormix.models.vit import SelfAttention


def test_self_attention_is_torch_multihead_attention() -> None:
    torch.manual_seed(0)
    ours, x = SelfAttention(8, 2), torch.randn(3, 5, 8)
    theirs = nn.MultiheadAttention(8, 2, batch_first=True)
    theirs.in_proj_weight.data.copy_(ours.qkv.weight.data)
    theirs.in_proj_bias.data.copy_(ours.qkv.bias.data)
    theirs.out_proj.load_state_dict(ours.proj.state_dict())
    torch.testing.assert_close(ours(x), theirs(x, x, x)[0])


def test_attention_is_the_weighted_sum() -> None:
    """States (1, 0), (0, 1), query (0, 1): products 0, 1, so weights 1 : e."""
    states = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    e = torch.e
    expected = torch.tensor([[1 / (1 + e), e / (1 + e)]])
    torch.testing.assert_close(Attention(0.0)(states, states), expected)


def test_skip_runs_each_phase_of_the_period_alone() -> None:
    torch.manual_seed(0)
    skip, features = Skip(hidden=4, size=3, period=5, steps=2, dropout=0.0), torch.randn(2, 12, 4)
    out = skip(features, features)
    for phase in range(5):
        series = features[:, -10:][:, phase::5].transpose(0, 1)
        torch.testing.assert_close(out[:, 3 * phase : 3 * phase + 3], skip.gru(series)[1][0])


def test_highway_is_linear_in_the_last_steps() -> None:
    model = LSTNet("skip", series=2, window=60).eval()
    x = torch.randn(3, 60, 2)
    nn.init.zeros_(model.head.weight)
    nn.init.zeros_(model.head.bias)
    weight, bias = model.highway.weight, model.highway.bias
    expected = torch.einsum("ntm,t->nm", x[:, -24:], weight[0]) + bias
    torch.testing.assert_close(model(x), expected)


def test_companion_carries_the_highway_alone() -> None:
    """Blending the companion's output is blending the highway's input: the head's share does not move."""
    model = LSTNet("attention", series=2, window=60).eval()
    x, other = torch.randn(3, 60, 2), torch.randn(3, 60, 2)
    (name,) = model.companions
    handle = model.get_submodule(name).register_forward_hook(lambda _m, _a, out: (out + other[:, -24:]) / 2)
    blended = model(x)
    handle.remove()
    linear = torch.einsum("ntm,t->nm", (other - x)[:, -24:] / 2, model.highway.weight[0])
    torch.testing.assert_close(blended, model(x) + linear)


def test_strides_of_both_stems() -> None:
    """At 64 pixels the last stage is 8 wide with the CIFAR stem, 2 with the ImageNet stem."""
    sizes = {}
    for stem in ("cifar", "imagenet"):
        model = ResNet(50, base_width=4, stem=stem).eval()
        model.mean.register_forward_hook(lambda _m, args, _o, stem=stem: sizes.update({stem: args[0].shape}))
        model(torch.zeros(1, 3, 64, 64))
    assert sizes == {"cifar": (1, 128, 8, 8), "imagenet": (1, 128, 2, 2)}
