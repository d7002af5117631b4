"""Parameter counts, built on the meta device so that no weight is ever drawn."""

from typing import Any

import pytest
import torch

from tailormix.models import build

CLASSES = (10, 100, 200)
COUNTS: list[tuple[str, dict[str, Any], int]] = [
    *[
        (name, {"num_classes": classes}, expected)
        for name, counts in {
            "resnet18": (11_173_962, 11_220_132, 11_271_432),
            "resnet34": (21_282_122, 21_328_292, 21_379_592),
            "resnet50": (23_520_842, 23_705_252, 23_910_152),
            "resnet101": (42_512_970, 42_697_380, 42_902_280),
        }.items()
        for classes, expected in zip(CLASSES, counts, strict=True)
    ],
    ("resnet50", {"num_classes": 1000, "stem": "imagenet"}, 25_557_032),
    ("vit-s16", {"num_classes": 1000}, 22_050_664),
    ("mobilenetv2", {"num_classes": 1000}, 3_504_872),  # as torchvision's
    ("fcn3", {}, 17_409),
    ("lstnet-skip", {"series": 8, "hidden": 50}, 19_998),
    ("lstnet-skip", {"series": 321, "hidden": 100}, 325_871),
    # Convolution 50·6·8 + 50, GRU 3·(2500 + 2500 + 100), linear 100·8 + 8, highway 25
    ("lstnet-attention", {}, 2450 + 15_300 + 808 + 25),
    # Patches 48·64 + 64, token 64, positions 65·64; block 12·64² + 13·64; norm 128; linear 650
    ("vit-tiny", {}, 3136 + 64 + 4160 + 4 * (12 * 4096 + 13 * 64) + 128 + 650),
]


def count(name: str, **arguments: Any) -> int:
    with torch.device("meta"):
        return sum(p.numel() for p in build(name, **arguments).parameters())


@pytest.mark.parametrize(("name", "arguments", "expected"), COUNTS)
def test_published_counts(name: str, arguments: dict[str, Any], expected: int) -> None:
    assert count(name, **arguments) == expected


def test_small_resnets_by_hand() -> None:
    """Worked by hand, convolutions without bias, a BatchNorm of c channels has 2c.

    Stem 3·16·9 + 32 = 464. Stage 1 block: 2·16·16·9 + 64 = 4672. First block of stage 2:
    16·32·9 + 32·32·9 + 128 + (16·32 + 64) = 14 528; of stage 3: 57 728. Linear 640 + 10.
    ResNet-20 adds two blocks a stage: 2·4672, 2·(2·32·32·9 + 128), 2·(2·64·64·9 + 256).
    """
    eight = 464 + 4672 + 14_528 + 57_728 + 650
    assert count("resnet8") == eight == 78_042
    assert count("resnet20") == eight + 2 * (4672 + 18_560 + 73_984) == 272_474


def test_base_width_scales_the_channels() -> None:
    with torch.device("meta"):
        model = build("resnet8", base_width=4)
    assert model.get_submodule("layer3.0.branch.0").weight.shape == (16, 8, 3, 3)
