"""Residual networks: depth 18 to 101 as in the paper, 8 and 20 for CPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, final, get_args

from torch import nn

from tailormix import checks

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


Stem = Literal["cifar", "half", "imagenet"]

#: depth → (bottleneck blocks?, blocks of each stage, channels of the first stage)
PLANS: dict[int, tuple[bool, tuple[int, ...], int]] = {
    8: (False, (1, 1, 1), 16),
    20: (False, (3, 3, 3), 16),
    18: (False, (2, 2, 2, 2), 64),
    34: (False, (3, 4, 6, 3), 64),
    50: (True, (3, 4, 6, 3), 64),
    101: (True, (3, 4, 23, 3), 64),
}


@final
class ResNet(nn.Module):
    """Stem, then stages whose channels double and (after the first) whose sides halve, then mean and linear.

    (n, ``in_channels``, H, W) → (n, ``num_classes``). Stem ``cifar`` is a 3×3 convolution, ``half``
    the same with stride 2, at a quarter of the cost; ``imagenet`` a 7×7 convolution of stride 2 and, after
    the first mixing point, a max-pool. ``base_width`` is the number
    of channels of the first stage: 64, or 16 for depths 8 and 20.

    >>> import torch
    >>> model = ResNet(8, base_width=4)
    >>> model.stages, model(torch.zeros(2, 3, 8, 8)).shape
    (('stem', 'layer1', 'layer2', 'layer3'), torch.Size([2, 10]))
    """

    embedding_layer = "fc"
    #: every layer works in channels-last too, in which convolutions on CPUs are faster: ``embed`` uses it
    any_memory_format = True

    def __init__(
        self,
        depth: int,
        num_classes: int = 10,
        in_channels: int = 3,
        stem: Stem = "cifar",
        base_width: int | None = None,
    ) -> None:
        super().__init__()
        checks.known("depth", str(depth), map(str, PLANS))
        checks.known("stem", stem, get_args(Stem))
        bottleneck, blocks, default_width = PLANS[depth]
        width = checks.integer("base_width", default_width if base_width is None else base_width, at_least=1)
        in_channels = checks.integer("in_channels", in_channels, at_least=1)
        kernel, stride = {"cifar": (3, 1), "half": (3, 2), "imagenet": (7, 2)}[stem]
        self.stem = nn.Sequential(*_conv_bn(in_channels, width, kernel, stride), nn.ReLU(inplace=True))
        self.pool = nn.MaxPool2d(3, 2, padding=1) if stem == "imagenet" else nn.Identity()
        channels = width
        for k, count in enumerate(blocks):
            out = width * 2**k * (4 if bottleneck else 1)
            self.add_module(f"layer{k + 1}", _stage(bottleneck, count, channels, out, 1 if k == 0 else 2))
            channels = out
        self.stages = ("stem", *(f"layer{k + 1}" for k in range(len(blocks))))
        self.mean = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(channels, checks.integer("num_classes", num_classes, at_least=1))

    def forward(self, x: Tensor) -> Tensor:
        """Map images (n, channels, H, W) to logits (n, ``num_classes``)."""
        x = self.pool(self.stem(x))
        for name in self.stages[1:]:
            x = self.get_submodule(name)(x)
        out: Tensor = self.fc(self.mean(x).flatten(1))
        return out


@final
class Residual(nn.Module):
    """ReLU(f(x) + s(x)), with s the identity, or a 1×1 convolution where the shape changes."""

    def __init__(self, branch: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.branch = branch
        self.shortcut = shortcut

    def forward(self, x: Tensor) -> Tensor:
        """Add branch and shortcut; shapes as the branch makes them."""
        return nn.functional.relu(self.branch(x) + self.shortcut(x), inplace=True)


def _stage(bottleneck: bool, count: int, channels: int, out: int, stride: int) -> nn.Sequential:
    branch: Callable[[int, int, int], nn.Module] = _bottleneck if bottleneck else _basic
    blocks = []
    for k in range(count):
        a, step = (channels, stride) if k == 0 else (out, 1)
        same = a == out and step == 1
        shortcut = nn.Identity() if same else nn.Sequential(*_conv_bn(a, out, 1, step))
        blocks.append(Residual(branch(a, out, step), shortcut))
    return nn.Sequential(*blocks)


def _basic(a: int, out: int, stride: int) -> nn.Module:
    return nn.Sequential(*_conv_bn(a, out, 3, stride), nn.ReLU(inplace=True), *_conv_bn(out, out, 3, 1))


def _bottleneck(a: int, out: int, stride: int) -> nn.Module:
    inner = out // 4
    return nn.Sequential(
        *_conv_bn(a, inner, 1, 1),
        nn.ReLU(inplace=True),
        *_conv_bn(inner, inner, 3, stride),
        nn.ReLU(inplace=True),
        *_conv_bn(inner, out, 1, 1),
    )


def _conv_bn(a: int, b: int, kernel: int, stride: int) -> tuple[nn.Module, nn.Module]:
    return nn.Conv2d(a, b, kernel, stride, padding=kernel // 2, bias=False), nn.BatchNorm2d(b)
