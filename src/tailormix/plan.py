"""A plan: who is mixed with whom, and how strongly."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

import torch
from torch.compiler import is_dynamo_compiling
from torch.nn import functional

from tailormix.kept import is_batched, kept, readable

if TYPE_CHECKING:
    from torch import Tensor

LARGE, LONG = 2**20, 2**10  # numbers in a tensor and in a row from which one pass beats two
PIECE = 3 * 2**10  # numbers in a piece of a row
FEW = 2**9  # classes up to which an identity matrix is kept, whose rows are copied
INDICES = (torch.int64, torch.int32)
COLUMN = [(-1, *(1,) * (axes - 1)) for axes in range(65)]  # one number a row, for tensors of so many axes


@dataclass(frozen=True)
class Plan:
    """Who is mixed with whom (``partner``) and how strongly (``lam``), for a batch of n samples.

    All fields have shape (n,). λ_i = 1 keeps sample i as it is, λ_i = 0 replaces it by its partner.

    Attributes:
        partner: index of each sample's partner, in the batch or in the pool.
        lam: coefficient of the inputs.
        lam_targets: coefficient of the targets, where it differs from ``lam``.
        tau: the warping parameter behind ``lam``, where there is one and somebody asked (``method.plan``).
        distance: the rescaled distance of each pair, likewise.

    >>> plan = Plan(partner=torch.tensor([1, 0]), lam=torch.tensor([0.75, 0.5]))
    >>> plan.blend(torch.tensor([[0.0], [8.0]]))
    tensor([[2.],
            [4.]])

    """

    partner: Tensor
    lam: Tensor
    lam_targets: Tensor | None = None
    tau: Tensor | None = None
    distance: Tensor | None = None

    def __post_init__(self) -> None:
        shape = self.partner.shape
        if (
            len(shape) != 1
            or self.lam.shape != shape
            or (self.lam_targets is not None and self.lam_targets.shape != shape)
            or (self.tau is not None and self.tau.shape != shape)
            or (self.distance is not None and self.distance.shape != shape)
        ):
            self._reject()

    def _reject(self) -> NoReturn:
        for name, value in vars(self).items():
            if value is not None and value.shape != self.partner.shape[:1]:
                raise ValueError(
                    f"{name} must have shape (n,) like partner, got {tuple(value.shape)} beside "
                    f"{tuple(self.partner.shape)}"
                )
        raise ValueError(f"partner must have shape (n,), got {tuple(self.partner.shape)}")

    def __len__(self) -> int:
        return self.partner.shape[0]

    def blend(self, a: Tensor, partners: Tensor | None = None) -> Tensor:
        """λ_i a_i + (1 - λ_i) partners_σ(i) for anything with a batch axis; ``partners`` is ``a`` by default.

        ``partners`` may be longer than the batch (a pool), in which case ``partner`` points into it.
        """
        if partners is None:
            if a.numel() >= LARGE and _beyond_caches(a):
                return _bag(a, self.partner, self.lam)
            partners = a
        if partners.is_contiguous():
            return mix(a, partners.index_select(0, self.partner), self.lam)
        return mix(a, take(partners, self.partner), self.lam)

    @property
    def for_targets(self) -> Plan:
        """The same plan with the coefficients of the targets as ``lam``."""
        return self if self.lam_targets is None else replace(self, lam=self.lam_targets, lam_targets=None)

    def blend_labels(self, y: Tensor, num_classes: int, partners: Tensor | None = None) -> Tensor:
        """Soft rows (n, C) with λ_i at class y_i and 1 - λ_i at the partner's class; y holds class indices.

        >>> Plan(torch.tensor([1, 0]), torch.tensor([0.75, 1.0])).blend_labels(torch.tensor([0, 2]), 3)
        tensor([[0.7500, 0.0000, 0.2500],
                [0.0000, 0.0000, 1.0000]])
        """
        rows = one_hot(y, num_classes)
        if partners is None:
            return self.blend(rows)
        return mix(rows, one_hot(take(partners, self.partner), num_classes), self.lam)


def mix(a: Tensor, others: Tensor, lam: Tensor) -> Tensor:
    """λ_i a_i + (1 - λ_i) others_i, written over ``others``: one pass and no further allocation."""
    if not a.is_floating_point():
        raise TypeError(f"only floating-point tensors can be mixed, got dtype {a.dtype}: convert it first")
    if lam.dtype != a.dtype or lam.get_device() != a.get_device():
        lam = lam.to(device=a.device, dtype=a.dtype)
    return others.lerp_(a, lam.view(COLUMN[a.dim()]))


def _beyond_caches(a: Tensor) -> bool:
    """Whether ``a`` is so large that a second pass over it would fetch it from memory again."""
    return (
        readable(a)
        and a.numel() >= max(LARGE, LONG * a.shape[0])
        and a.dtype == torch.float32
        and a.is_contiguous()
        and not a.requires_grad
    )


def _bag(a: Tensor, partner: Tensor, lam: Tensor) -> Tensor:
    """λ_i a_i + (1 - λ_i) a_σ(i) in one pass, as weighted sums of bags of two rows; (n, ...) of float32.

    Rows are cut into k pieces, each with a bag of its own: long rows take torch a third longer.
    """
    n = a.shape[0]
    k = pieces(a.numel() // n)
    own = torch.arange(n * k, device=a.device).view(n, k)
    theirs = torch.add(own[0], partner.view(n, 1), alpha=k)
    rows = torch.stack((own, theirs), dim=2)
    lam = lam.to(torch.float32)
    shares = torch.stack((lam, 1 - lam), dim=1).view(n, 1, 2).expand(n, k, 2)
    cut, bags = a.view(n * k, -1), rows.view(n * k, 2)
    weights = shares.reshape(n * k, 2)
    return functional.embedding_bag(bags, cut, per_sample_weights=weights, mode="sum").view_as(a)


@functools.lru_cache(maxsize=256)
def pieces(length: int) -> int:
    """Into how many equal pieces to cut a row of this length, of ``PIECE`` or fewer; 1 where that cannot be.

    >>> pieces(3 * 32 * 32), pieces(3 * 224 * 224), pieces(10007)
    (1, 49, 1)
    """
    fewest = -(-length // PIECE)
    return next((k for k in range(fewest, 4 * fewest) if length % k == 0), 1)


def take(a: Tensor, index: Tensor) -> Tensor:
    """``a[index]`` along the first axis, in the memory format of ``a``."""
    # index_select is faster, but turns channels-last into contiguous.
    return a.index_select(0, index) if a.is_contiguous() else a[index]


def one_hot(y: Tensor, num_classes: int) -> Tensor:
    """Class indices (n,) as rows (n, C), without the wait that torch's own ``one_hot`` needs on a GPU.

    >>> one_hot(torch.tensor([1, 0]), 2)
    tensor([[0., 1.],
            [1., 0.]])
    """
    index = y if y.dtype in INDICES else y.long()
    try:
        if num_classes <= FEW and not is_dynamo_compiling():  # whose graphs fuse the rest
            return _identity(num_classes, y.device, torch.get_default_dtype()).index_select(0, index)
        if is_batched(y):  # which scatters one by one
            return (y[:, None] == torch.arange(num_classes, device=y.device)).to(torch.get_default_dtype())
        rows = torch.zeros(y.shape[0], num_classes, device=y.device)
        return rows.scatter_(1, index.long()[:, None], 1.0)
    except (IndexError, RuntimeError):
        check_range(y, num_classes)
        raise


def check_range(y: Tensor, num_classes: int) -> None:
    """Reject class indices out of range, where looking at them is free."""
    if readable(y) and y.numel():
        low, high = (int(bound) for bound in y.aminmax())
        if low < 0 or high >= num_classes:
            raise ValueError(
                f"y must lie in 0..{num_classes - 1} (num_classes={num_classes}), got {low}..{high}"
            )


@kept
def _identity(size: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    return torch.eye(size, device=device, dtype=dtype)
