"""Vision transformers: ViT-S/16, and a tiny one for CPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import torch
from torch import nn

from tailormix import checks

if TYPE_CHECKING:
    from torch import Tensor


#: mixing points after the embedding: this many, evenly spaced over the blocks
_POINTS = 4


def vit_s16(num_classes: int = 1000, in_channels: int = 3, image_size: int = 224) -> VisionTransformer:
    """Build ViT-S/16: patches of 16, width 384, 12 blocks of 6 heads; 22 050 664 parameters."""
    return VisionTransformer(image_size, 16, in_channels, num_classes, width=384, depth=12, heads=6)


def vit_tiny(
    num_classes: int = 10,
    in_channels: int = 3,
    image_size: int = 32,
    patch_size: int = 4,
    width: int = 64,
    depth: int = 4,
    heads: int = 4,
) -> VisionTransformer:
    """Build a vision transformer that a CPU trains: far smaller than the published ViT-Ti.

    >>> model = vit_tiny(image_size=8, patch_size=2, in_channels=1)
    >>> model.stages
    ('embed', 'blocks.0', 'blocks.1', 'blocks.2', 'blocks.3')
    """
    std = width**-0.5
    return VisionTransformer(image_size, patch_size, in_channels, num_classes, width, depth, heads, std)


@final
class VisionTransformer(nn.Module):
    """Patches and a class token through pre-norm blocks; the class token's last state is the embedding.

    z ← z + Attention(LN(z)); z ← z + MLP(LN(z)), MLP four times as wide, GELU. Weights and positions start
    from a normal law of standard deviation ``init_std``: 0.02 as is usual at a width of 384, more for narrow
    nets, which hardly tell positions apart otherwise.
    (n, ``in_channels``, S, S) → (n, ``num_classes``).
    """

    embedding_layer = "head"

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        in_channels: int,
        num_classes: int,
        width: int,
        depth: int,
        heads: int,
        init_std: float = 0.02,
    ) -> None:
        super().__init__()
        for name, size in (("width", width), ("depth", depth), ("heads", heads)):
            checks.integer(name, size, at_least=1)
        if width % heads:
            raise ValueError(f"width must be a multiple of heads={heads}, got {width}")
        self.embed = Embed(image_size, patch_size, in_channels, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, checks.integer("num_classes", num_classes, at_least=1))
        ends = sorted({max(depth * k // _POINTS, 1) - 1 for k in range(1, _POINTS + 1)})
        self.stages = ("embed", *(f"blocks.{k}" for k in ends))
        self._initialise(init_std)

    def _initialise(self, std: float) -> None:
        nn.init.trunc_normal_(self.embed.positions, std=std)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=std)
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Map images (n, channels, S, S) to logits (n, ``num_classes``)."""
        tokens: Tensor = self.norm(self.blocks(self.embed(x)))
        out: Tensor = self.head(tokens[:, 0])
        return out


@final
class Embed(nn.Module):
    """(n, channels, S, S) → (n, 1 + (S / patch)², width): class token, patches, positions added."""

    def __init__(self, image_size: int, patch_size: int, in_channels: int, width: int) -> None:
        super().__init__()
        checks.integer("patch_size", patch_size, at_least=1)
        checks.integer("image_size", image_size, at_least=patch_size)
        checks.integer("in_channels", in_channels, at_least=1)
        if image_size % patch_size:
            raise ValueError(f"image_size must be a multiple of patch_size={patch_size}, got {image_size}")
        self.patches = nn.Conv2d(in_channels, width, patch_size, patch_size)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.zeros(1, 1 + (image_size // patch_size) ** 2, width))
        nn.init.normal_(self.token, std=1e-6)

    def forward(self, x: Tensor) -> Tensor:
        """Cut into patches, put the class token first, add positions."""
        patches = self.patches(x).flatten(2).transpose(1, 2)
        token = self.token.expand(x.shape[0], -1, -1)
        return torch.cat([token, patches], dim=1) + self.positions


@final
class Block(nn.Module):
    """z ← z + Attention(LN(z)); z ← z + MLP(LN(z)); shapes (n, tokens, width) throughout."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attention = SelfAttention(width, heads)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, z: Tensor) -> Tensor:
        """Attend, then transform each token."""
        z = z + self.attention(self.norm1(z))
        out: Tensor = z + self.mlp(self.norm2(z))
        return out


@final
class SelfAttention(nn.Module):
    """softmax(Q Kᵀ / √d) V over ``heads`` heads, with biases: (n, tokens, width) → the same."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, z: Tensor) -> Tensor:
        """Mix the tokens of each sample."""
        n, tokens, width = z.shape
        qkv = self.qkv(z).view(n, tokens, 3, self.heads, width // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value)
        out: Tensor = self.proj(mixed.transpose(1, 2).reshape(n, tokens, width))
        return out
