"""A plan: who is mixed with whom, and how strongly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

import torch
from torch import float32, get_default_dtype
from torch.compiler import is_dynamo_compiling

from tailormix.bags import blend, sums
from tailormix.kept import is_batched, readable, remembering

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.bags import Bags

FEW = 2**9  # classes up to which an identity matrix is kept, whose rows are copied
INDICES = (torch.int64, torch.int32)
INTEGERS = (*INDICES, torch.int16, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.uint64)
COLUMN = [(-1, *(1,) * (axes - 1)) for axes in range(65)]  # one number a row, for tensors of so many axes


@dataclass(frozen=True, init=False)
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

    def __init__(
        self,
        partner: Tensor,
        lam: Tensor,
        lam_targets: Tensor | None = None,
        tau: Tensor | None = None,
        distance: Tensor | None = None,
    ) -> None:
        # By hand: every batch has its plan, and most plans have two fields.
        shape = partner.shape
        if len(shape) != 1:
            raise ValueError(f"partner must have shape (n,), got {tuple(shape)}")
        if lam.shape != shape:
            _reject("lam", lam, shape)
        object.__setattr__(self, "partner", partner)
        object.__setattr__(self, "lam", lam)
        if lam_targets is not None or tau is not None or distance is not None:
            for name, value in (("lam_targets", lam_targets), ("tau", tau), ("distance", distance)):
                if value is not None:
                    if value.shape != shape:
                        _reject(name, value, shape)
                    object.__setattr__(self, name, value)

    def __post_init__(self) -> None:
        """For subclasses, whose own ``__init__`` a dataclass writes: checked like a plan."""
        Plan(self.partner, self.lam, self.lam_targets, self.tau, self.distance)

    def __len__(self) -> int:
        return self.partner.shape[0]

    def blend(self, a: Tensor, partners: Tensor | None = None) -> Tensor:
        """λ_i a_i + (1 - λ_i) partners_σ(i) for anything with a batch axis; ``partners`` is ``a`` by default.

        ``partners`` may be longer than the batch (a pool), in which case ``partner`` points into it.
        """
        if partners is None:
            found = blend(a, self.partner, self.lam)
            if found is not None:
                return found[0]
            partners = a
        if partners.is_contiguous():
            return mix(a, partners.index_select(0, self.partner), self.lam)
        return mix(a, take(partners, self.partner), self.lam)

    @property
    def for_targets(self) -> Plan:
        """The same plan with the coefficients of the targets as ``lam``."""
        return self if self.lam_targets is None else replace(self, lam=self.lam_targets, lam_targets=None)

    def blend_labels(
        self, y: Tensor, num_classes: int, partners: Tensor | None = None, bags: Bags | None = None
    ) -> Tensor:
        """Soft rows (n, C) with λ_i at class y_i and 1 - λ_i at the partner's class; y holds class indices.

        ``bags`` are those of this plan, from :func:`tailormix.bags.blend`, if they are at hand.

        >>> Plan(torch.tensor([1, 0]), torch.tensor([0.75, 1.0])).blend_labels(torch.tensor([0, 2]), 3)
        tensor([[0.7500, 0.0000, 0.2500],
                [0.0000, 0.0000, 1.0000]])
        """
        if bags is not None and num_classes <= FEW and y.dtype in INDICES and get_default_dtype() is float32:
            return _summed_labels(y, num_classes, bags)
        rows = one_hot(y, num_classes)
        if partners is None:
            return self.blend(rows)
        return mix(rows, one_hot(take(partners, self.partner), num_classes), self.lam)


def _reject(name: str, value: Tensor, shape: torch.Size) -> NoReturn:
    raise ValueError(
        f"{name} must have shape (n,) like partner, got {tuple(value.shape)} beside {tuple(shape)}"
    )


def mix(a: Tensor, others: Tensor, lam: Tensor) -> Tensor:
    """λ_i a_i + (1 - λ_i) others_i, written over ``others``: one pass and no further allocation."""
    if not a.is_floating_point():
        raise TypeError(f"only floating-point tensors can be mixed, got dtype {a.dtype}: convert it first")
    if lam.dtype != a.dtype or lam.get_device() != a.get_device():
        lam = lam.to(device=a.device, dtype=a.dtype)
    return others.lerp_(a, lam.view(COLUMN[a.dim()]))


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
            return _identity(num_classes, y.device, get_default_dtype()).index_select(0, index)
        if is_batched(y):  # which scatters one by one
            return (y[:, None] == torch.arange(num_classes, device=y.device)).to(get_default_dtype())
        rows = torch.zeros(y.shape[0], num_classes, device=y.device)
        return rows.scatter_(1, index.long()[:, None], 1.0)
    except (IndexError, RuntimeError):
        check_range(y, num_classes)
        raise


def _summed_labels(y: Tensor, num_classes: int, bags: Bags) -> Tensor:
    """Soft rows as sums over the bags in which the inputs were blended."""
    rows, shares, starts = bags
    classes = _identity(num_classes, y.device, shares.dtype)
    try:
        return sums(classes, y.index_select(0, rows), shares, starts)
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


@remembering
def _identity(size: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    return torch.eye(size, device=device, dtype=dtype)
