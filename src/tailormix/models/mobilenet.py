"""MobileNetV2 (Sandler et al., 2018): inverted residuals, small enough to fine-tune on a CPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import torch
from torch import nn

from tailormix import checks

if TYPE_CHECKING:
    from torch import Tensor

#: expansion, channels, repeats and first stride of each group of blocks
GROUPS = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
WIDTH = 1280  # of the embedding


@final
class MobileNetV2(nn.Module):
    """Convolution, 17 inverted residuals, 1×1 convolution to 1280 channels, mean, linear.

    (n, ``in_channels``, H, W) → (n, ``num_classes``). ``weights`` is a file with a state dictionary whose
    ``features.*`` are those of torchvision's MobileNetV2; the linear layer is always new. Images must then be
    normalised by ImageNet's means and deviations; 96 pixels a side or more work well.

    >>> model = MobileNetV2(num_classes=5)
    >>> model(torch.zeros(2, 3, 32, 32)).shape, sum(p.numel() for p in model.features.parameters())
    (torch.Size([2, 5]), 2223872)
    """

    embedding_layer = "classifier"
    stages = ("features.3", "features.6", "features.13", "features.17")
    any_memory_format = True

    def __init__(
        self,
        num_classes: int = 10,
        in_channels: int = 3,
        dropout: float = 0.2,
        weights: str | Path | None = None,
    ) -> None:
        super().__init__()
        checks.fraction("dropout", dropout)
        channels = 32
        layers: list[nn.Module] = [nn.Sequential(*_convolution(in_channels, channels, 3, 2))]
        for expansion, out, repeats, stride in GROUPS:
            for number in range(repeats):
                layers.append(InvertedResidual(channels, out, stride if number == 0 else 1, expansion))
                channels = out
        layers.append(nn.Sequential(*_convolution(channels, WIDTH, 1)))
        self.features = nn.Sequential(*layers)
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(WIDTH, checks.integer("num_classes", num_classes, at_least=1))
        if weights is not None:
            self.features.load_state_dict(read_features(Path(weights)))

    def forward(self, x: Tensor) -> Tensor:
        """Map images (n, channels, H, W) to logits (n, ``num_classes``)."""
        out: Tensor = self.classifier(self.dropout(self.features(x).mean((2, 3))))
        return out


@final
class InvertedResidual(nn.Module):
    """1×1 up, 3×3 per channel, 1×1 down; added to the input where the shape stays."""

    def __init__(self, channels: int, out: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = channels * expansion
        up = _convolution(channels, inner, 1) if expansion > 1 else []
        depthwise = _convolution(inner, inner, 3, stride, groups=inner)
        self.conv = nn.Sequential(*up, *depthwise, nn.Conv2d(inner, out, 1, bias=False), nn.BatchNorm2d(out))
        self.keeps_shape = stride == 1 and channels == out

    def forward(self, x: Tensor) -> Tensor:
        """Map (n, ``channels``, H, W) to (n, ``out``, H / stride, W / stride)."""
        out: Tensor = self.conv(x)
        return x + out if self.keeps_shape else out


def read_features(path: Path) -> dict[str, Tensor]:
    """The weights of ``features`` in a file of torch or safetensors, without that prefix."""
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            state: Any = load_file(path)
        else:
            state = torch.load(path, map_location="cpu", weights_only=True)
        found = {
            name.removeprefix("features."): tensor
            for name, tensor in state.items()
            if name.startswith("features.")
        }
    except Exception as error:  # whatever pickle raises for a file of something else
        raise ValueError(
            f"weights must be a file of MobileNetV2's state dictionary, got {path}: {error}"
        ) from error
    if not found:
        raise ValueError(
            f"weights must hold features.*, got {', '.join(list(state)[:3]) or 'nothing'} in {path}"
        )
    return found


def _convolution(channels: int, out: int, size: int, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    """Convolution, BatchNorm and ReLU6."""
    convolution = nn.Conv2d(channels, out, size, stride, size // 2, groups=groups, bias=False)
    return [convolution, nn.BatchNorm2d(out), nn.ReLU6(inplace=True)]
