"""Blending in one pass: a sample and its partner are a bag of two rows, and torch takes weighted sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, addcmul, cat, embedding_bag, float32
from torch.compiler import is_dynamo_compiling

from tailormix.kept import remembering, transformed

if TYPE_CHECKING:
    from collections.abc import Sequence

    Pairing = tuple[Tensor, Tensor]  # partner and lam of a plan
    Layout = tuple[int, Tensor, Tensor, Tensor, Tensor, Tensor]
    Bags = tuple[Tensor, Tensor, Tensor]  # rows (2n,), sample and partner in turn; their shares; n starts

LARGE, LONG = 2**18, 2**11  # numbers in a tensor and in a row from which one pass beats two
PIECE = 3 * 2**10  # numbers in a piece of a row: torch takes a third longer for long ones
SUM = 0  # as torch numbers what is done with a bag


def blend(
    a: Tensor, partner: Tensor, lam: Tensor, further: Sequence[Pairing] = (), clean: bool = False
) -> tuple[Tensor, Bags | None] | None:
    """λ_i a_i + (1 - λ_i) a_σ(i), or nothing where two passes do better.

    They do for small tensors, which stay in the caches from one pass to the next, and where torch has no fast
    bags. Beside the blend come its bags, for labels, unless they hold pieces of rows.

    ``further`` pairs (partner, lam) are blended below the first in the same tensor, and all of them below
    ``a`` itself if ``clean``.
    """
    size = a.numel()
    if size < LARGE or is_dynamo_compiling() or not a.is_cpu or type(a) is not Tensor:
        return None
    shape = a.shape
    n = shape[0]
    if size < LONG * n or a.dtype is not float32 or a.requires_grad or not a.is_contiguous() or transformed():
        return None
    layout = _layout(n, size // n)
    k, own, steps, starts, second, signs = layout
    if lam.dtype is not float32 or not lam.is_cpu:
        lam = lam.to("cpu", float32)
    rows = addcmul(own, partner.view(n, 1, 1), steps).view(-1)
    shares = addcmul(second, lam.view(n, 1, 1), signs).view(-1)
    if further or clean:
        rows, shares, starts = _together(rows, shares, layout, further, clean)
        return sums(a.view(n * k, -1), rows, shares, starts).view(-1, *shape[1:]), None
    blended = embedding_bag(a.view(n * k, -1), rows, starts, False, SUM, False, shares)[0].view(shape)
    return blended, (rows, shares, starts) if k == 1 else None


def _together(rows: Tensor, shares: Tensor, layout: Layout, further: Sequence[Pairing], clean: bool) -> Bags:
    """The bags of several blends below each other, given those of the first."""
    _, own, steps, _, second, signs = layout
    single, whole, starts = _starts(len(rows) // 2, 1 + len(further), clean)
    all_rows, all_shares = ([single, rows], [whole, shares]) if clean else ([rows], [shares])
    for partner, lam in further:
        all_rows.append(addcmul(own, partner.view(-1, 1, 1), steps).view(-1))
        all_shares.append(addcmul(second, lam.view(-1, 1, 1).to("cpu", float32), signs).view(-1))
    return cat(all_rows), cat(all_shares), starts


def sums(table: Tensor, rows: Tensor, shares: Tensor, starts: Tensor) -> Tensor:
    """Σ share · table[row] over each bag, which is what :func:`blend` does.

    >>> sums(torch.eye(2), torch.tensor([0, 1]), torch.tensor([0.75, 0.25]), torch.tensor([0]))
    tensor([[0.7500, 0.2500]])
    """
    return embedding_bag(table, rows, starts, False, SUM, False, shares)[0]


def pieces(length: int) -> int:
    """Into how many equal pieces to cut a row of this length, of ``PIECE`` or fewer; 1 where that cannot be.

    >>> pieces(3 * 32 * 32), pieces(3 * 224 * 224), pieces(10007)
    (1, 49, 1)
    """
    fewest = -(-length // PIECE)
    return next((k for k in range(fewest, 4 * fewest) if length % k == 0), 1)


def _laid_out(n: int, length: int) -> Layout:
    """What all blends of n rows have in common: k, own, steps, starts, second and signs.

    The j-th piece of sample i is row k i + j. A bag holds two: rows = own + steps · partner, and their shares
    are second + signs · λ, which is λ and 1 - λ.
    """
    k = pieces(length)
    with torch.device("cpu"):
        row = torch.arange(n * k)
        own = torch.stack((row, row % k), dim=1).view(n, k, 2)
        second = torch.tensor([0.0, 1.0], dtype=float32).repeat(k, 1)
        signs = torch.tensor([1.0, -1.0], dtype=float32)
        return k, own, torch.tensor([0, k]), 2 * row, second, signs


_layout = remembering(_laid_out, at_most=64)


def _started(n: int, blends: int, clean: bool) -> tuple[Tensor, Tensor, Tensor]:
    """As many rows as bags of their own, their shares, and where these and the bags of two start."""
    with torch.device("cpu"):
        single, pairs = torch.arange(n), torch.arange(0, 2 * n * blends, 2)
        starts = torch.cat((single, pairs + n)) if clean else pairs
        return single, torch.ones(n, dtype=float32), starts


_starts = remembering(_started, at_most=64)
