"""Embeddings of any model, without touching it: what flows into its last linear layer; and their bank."""

from __future__ import annotations

import contextlib
import functools
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, final

import torch
from torch import nn

from tailormix import checks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from torch import Tensor
    from torch.distributed import ProcessGroup

P = ParamSpec("P")
T = TypeVar("T")
FEATURES_LAST = (nn.Linear, nn.LayerNorm, nn.MultiheadAttention, nn.TransformerEncoderLayer)
LARGEST = 3e4  # what half precision holds easily
# The linear layer that ran last in a model's first pass, among which linear layers.
_LAST_LINEAR: weakref.WeakKeyDictionary[nn.Module, tuple[str, list[str]]] = weakref.WeakKeyDictionary()


def outside_compiled_code(function: Callable[P, T]) -> Callable[P, T]:
    """The function, left out where its caller is compiled, since compiled code ignores hooks added later."""

    @functools.wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> T:
        # Not as a decorator, which would import the compiler together with the library.
        untraced: Callable[P, T] = torch.compiler.disable(function)  # type: ignore[no-untyped-call]
        return untraced(*arguments, **named)

    return call


@outside_compiled_code
def embed(model: nn.Module, x: Tensor, layer: str | None = None, update_statistics: bool = False) -> Tensor:
    """h(x): the input of the model's last linear layer, pooled and flattened, for every sample.

    One forward pass without gradient. Dropout is off. BatchNorm layers in training mode use the statistics of
    the batch, as in the step itself, but their running statistics and counters come out as they went in.
    Where a model declares that it takes ``any_memory_format``, images pass in channels-last on a CPU, which
    takes two fifths less time.

    Args:
        model: any module; compiled and wrapped (DDP) ones are unwrapped for this pass.
        x: inputs (n, ...).
        layer: name of the layer whose input is wanted, as in ``model.named_modules()``. By default
            ``model.embedding_layer`` if the model declares it, else the last ``nn.Linear`` that runs.
        update_statistics: let the pass update BatchNorm's running statistics, as the released code does.

    Returns:
        (n, d), detached.

    >>> model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
    >>> embed(model, torch.zeros(4, 3)).shape
    torch.Size([4, 5])

    """
    inner = unwrap(model)
    if x.is_cpu and x.dim() == 4 and getattr(inner, "any_memory_format", False) and not checks.TRUSTING.get():
        x = x.contiguous(memory_format=torch.channels_last)
    with torch.no_grad(), _measuring(inner, update_statistics), catch_input(inner, layer, len(x)) as caught:
        inner(x)
    return caught()


def unwrap(model: nn.Module) -> nn.Module:
    """The module inside ``torch.compile`` and the data-parallel wrappers."""
    while True:
        inner = getattr(model, "_orig_mod", None)
        if inner is None and isinstance(model, (nn.parallel.DistributedDataParallel, nn.DataParallel)):
            inner = model.module
        if inner is None:
            return model
        model = inner


def find_layer(model: nn.Module, name: str) -> nn.Module:
    """The layer of that name, as in ``model.named_modules()``."""
    layers: dict[str, nn.Module] = dict(unwrap(model).named_modules())
    if name not in layers:
        checks.known("layer", name, [key for key in layers if key])
    return layers[name]


def embedding_layers(model: nn.Module, name: str | None) -> dict[str, nn.Module]:
    """The layer whose input is the embedding; or all linear layers, of which it is the last one to run."""
    name = name or getattr(model, "embedding_layer", None)
    layers: dict[str, nn.Module] = dict(model.named_modules())
    if name is not None:
        return {name: layers[name] if name in layers else find_layer(model, name)}
    linear = [key for key, module in layers.items() if isinstance(module, nn.Linear)]
    if not linear:
        raise ValueError(
            f"{type(model).__name__} has no nn.Linear layer to take embeddings from: pass "
            "embedding_layer= with the name of a layer whose input they are, or use space='input'"
        )
    last, among = _LAST_LINEAR.get(model, ("", []))
    return {key: layers[key] for key in ([last] if among == linear else linear)}


@contextlib.contextmanager
def catch_input(model: nn.Module, layer: str | None, rows: int) -> Iterator[Callable[[], Tensor]]:
    """While open, record what flows into a layer; the function it gives returns that afterwards, (n, d).

    ``model`` is unwrapped, whatever runs it.
    """
    layers = embedding_layers(model, layer)
    ran: list[str] = []
    caught: list[Tensor] = []

    def record(name: str, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        value = arguments[0] if arguments else next(iter(named.values()))
        ran.append(name)
        caught[:] = [_pooled(value.detach(), features_last=isinstance(module, FEATURES_LAST))]

    def result() -> Tensor:
        name = ran[-1] if ran else next(reversed(layers))
        _check_fired(name, ran.count(name), tuple(caught[0].shape) if caught else (), rows)
        if len(layers) > 1:
            _LAST_LINEAR[model] = name, list(layers)
        return caught[0]

    handles = [
        module.register_forward_pre_hook(functools.partial(record, name), with_kwargs=True)
        for name, module in layers.items()
    ]
    try:
        with torch.compiler.set_stance("force_eager"):  # compiled modules ignore hooks that are added later
            yield result
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def rewrite_output(
    model: nn.Module, layer: str, change: Callable[[Tensor], Tensor], rows: int | None = None
) -> Iterator[None]:
    """While open, the output of one layer is replaced by ``change(output)``; it must run once per pass."""
    name, module = layer, find_layer(model, layer)
    fired: list[tuple[int, ...]] = []

    def replace_output(_: nn.Module, __: tuple[Any, ...], output: Any) -> Any:
        if not isinstance(output, torch.Tensor):
            raise TypeError(f"layer {name!r} must return a tensor to be mixed, got {type(output).__name__}")
        fired.append(tuple(output.shape))
        _check_fired(name, len(fired), fired[0], rows)
        return change(output)

    handle = module.register_forward_hook(replace_output)
    try:
        with torch.compiler.set_stance("force_eager"):
            yield
    finally:
        handle.remove()
    _check_fired(name, len(fired), fired[0] if fired else (), rows)


@contextlib.contextmanager
def _measuring(model: nn.Module, update_statistics: bool) -> Iterator[None]:
    """Everything in eval mode, but for norm layers in training mode, which see the batch."""
    modules: list[Any] = list(model.modules())
    modes = [module.training for module in modules]
    tracking = [m for m in modules if m.training and getattr(m, "track_running_stats", False)]
    statistics = [(m.running_mean, m.running_var) for m in tracking]
    try:
        for module in modules:
            module.training = False
        for module in tracking:
            module.training, module.track_running_stats = True, update_statistics
            if not update_statistics:
                # InstanceNorm writes to its running statistics even when told not to track them: hide them.
                module.running_mean = module.running_var = None
        yield
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode
        for module, (mean, variance) in zip(tracking, statistics, strict=True):
            module.track_running_stats = True
            module.running_mean, module.running_var = mean, variance


def _pooled(value: Tensor, *, features_last: bool) -> Tensor:
    """(n, ...) → (n, d): averages over positions, which lie before the features of linear layers."""
    if value.dim() <= 2:
        return value.reshape(value.shape[0], -1)
    return value.flatten(1, -2).mean(1) if features_last else value.flatten(2).mean(2)


def _check_fired(name: str, times: int, shape: tuple[int, ...], rows: int | None) -> None:
    if times != 1:
        raise ValueError(
            f"layer {name!r} must run exactly once in a forward pass, but ran {times} times: name another"
        )
    if rows is not None and shape[:1] != (rows,):
        raise ValueError(
            f"layer {name!r} must see {rows} rows, one per sample, but saw shape {shape}: name another"
        )


@final
class EmbeddingBank:
    """h(x_i) of all n training samples, measured by one pass without gradient every few epochs.

    A step then looks its embeddings up instead of passing the batch through the model once more, and SK Mixup
    costs as much as Mixup. Distances are those of the last refresh. Without a bank they are exact.
    Rows lie in half precision; very large ones are divided by a common factor, which rescaled distances do
    not see.

    Args:
        n: the number of training samples.
        every: epochs between refreshes; the first is before the first epoch.
        layer: the layer whose input is the embedding, as in :func:`tailormix.embed`.
        file: keeps the embeddings on disk, memory-mapped, instead of in memory.

    >>> bank = EmbeddingBank(n=4, every=10)
    >>> model, x = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Linear(5, 2)), torch.rand(4, 3)
    >>> bank.due(epoch=0), bank.due(epoch=1)
    (True, False)
    >>> bank.refresh(model, [(torch.tensor([0, 1]), x[:2]), (torch.tensor([2, 3]), x[2:])])
    >>> bank[torch.tensor([3, 0])].shape
    torch.Size([2, 5])

    """

    def __init__(
        self, n: int, every: int = 10, *, layer: str | None = None, file: str | Path | None = None
    ) -> None:
        self.n = checks.integer("n", n, at_least=1)
        self.every = checks.integer("every", every, at_least=1)
        self.layer = layer
        self.file = None if file is None else Path(file)
        self._rows: Tensor | None = None

    def due(self, epoch: int) -> bool:
        """Whether the bank is to be refreshed before this epoch, counted from 0."""
        return checks.integer("epoch", epoch, at_least=0) % self.every == 0

    @torch.no_grad()
    def refresh(
        self,
        model: nn.Module,
        batches: Iterable[tuple[Tensor, Tensor]],
        *,
        group: ProcessGroup | None = None,
    ) -> None:
        """Measure the embeddings anew; ``batches`` are pairs of ids (b,) and inputs (b, ...).

        Together they must hold every id. With ``group`` each rank passes its share, and all get everything.
        """
        parts = [(self._checked(ids).to(x.device), embed(model, x, self.layer).float()) for ids, x in batches]
        if not parts:
            raise ValueError("batches must hold every id, got no batch")
        ids, embeddings = (torch.cat(each) for each in zip(*parts, strict=True))
        if group is not None:
            ids, embeddings = _from_all_ranks(ids, group), _from_all_ranks(embeddings, group)
        ids, embeddings = ids.cpu(), embeddings.cpu()
        missing = (torch.bincount(ids, minlength=self.n) == 0).nonzero()
        if len(missing):
            raise ValueError(
                f"batches must hold every id from 0 to {self.n - 1}, but {int(missing[0])} is missing"
            )
        if not embeddings.isfinite().all():
            row = int(ids[(~embeddings.isfinite()).nonzero()[0, 0]])
            raise ValueError(f"embeddings must be finite, got NaN or infinity for id {row}")
        rows = self._room(embeddings.shape[1])
        rows[ids] = (embeddings / max(1.0, float(embeddings.abs().max()) / LARGEST)).half()
        self._rows = rows

    def __getitem__(self, ids: Tensor) -> Tensor:
        """The embeddings (b, d) of the samples ``ids`` (b,), in float32 on the device of the ids."""
        if self._rows is None:
            raise RuntimeError("the embedding bank is empty: call refresh before the first step")
        return self._rows[self._checked(ids)].to(ids.device, torch.float32)

    def state_dict(self) -> dict[str, Tensor]:
        """The embeddings (n, d) for a checkpoint; empty before the first refresh."""
        return {} if self._rows is None else {"embeddings": self._rows}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Return to a saved state."""
        if not state:
            self._rows = None
            return
        rows = state["embeddings"]
        if rows.shape[:1] != (self.n,):
            raise ValueError(f"the saved bank must hold {self.n} samples, got shape {tuple(rows.shape)}")
        self._rows = self._room(rows.shape[1]).copy_(rows)

    def _checked(self, ids: Tensor) -> Tensor:
        if ids.dim() != 1 or ids.is_floating_point() or ids.dtype == torch.bool:
            raise ValueError(
                f"ids must be whole numbers of shape (b,), got {ids.dtype} of {tuple(ids.shape)}"
            )
        ids = ids.long().cpu()
        if len(ids) and (int(ids.min()) < 0 or int(ids.max()) >= self.n):
            raise ValueError(f"ids must lie in 0..{self.n - 1}, got {int(ids.min())}..{int(ids.max())}")
        return ids

    def _room(self, width: int) -> Tensor:
        """An empty (n, width) in half precision, in memory or in the file."""
        if self.file is None:
            return torch.empty(self.n, width, dtype=torch.float16)
        size = self.n * width
        return torch.from_file(str(self.file), shared=True, size=size, dtype=torch.float16).view(
            self.n, width
        )


def _from_all_ranks(mine: Tensor, group: ProcessGroup) -> Tensor:
    """The rows of every rank, which may hold different numbers of them, one after the other."""
    ranks = torch.distributed.get_world_size(group)
    length = torch.tensor([len(mine)], device=mine.device)
    lengths = [torch.zeros_like(length) for _ in range(ranks)]
    torch.distributed.all_gather(lengths, length, group)
    padded = mine.new_zeros(int(max(lengths)), *mine.shape[1:])
    padded[: len(mine)] = mine
    shares = [torch.empty_like(padded) for _ in range(ranks)]
    torch.distributed.all_gather(shares, padded, group)
    return torch.cat([share[: int(length)] for share, length in zip(shares, lengths, strict=True)])
