"""The batch form, compiled, without the compiler's watch over this library's own code.

In every call of a compiled function torch looks again at each name that its code has read, in case somebody
has changed it since: a hundred names here, and a tenth of the time of a small batch. A method is immutable,
and so is the library: only arguments, and what a user's function reads, have to be looked at.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor
    from torch.distributed import ProcessGroup

    from tailormix.batch import Plan
    from tailormix.method import Method


OURS = ("method", "type(method", "dict(type(method", "G['__import_tailormix_", "G['__builtins_dict__")
NUMBERS = itertools.count()


def compiled(
    method: Method, *, mode: str | None = None, options: dict[str, Any] | None = None, **settings: Any
) -> Callable[..., Any]:
    """``method(x, y, ...)`` as one compiled graph; see :meth:`tailormix.method.Method.compiled`."""

    def batch_form(
        x: Tensor,
        y: Tensor,
        embeddings: Tensor | Callable[[], Tensor] | None = None,
        *,
        plan: Plan | None = None,
        group: ProcessGroup | None = None,
    ) -> tuple[Tensor, Tensor]:
        return method(x, y, embeddings, plan=plan, group=group)

    # Graphs are kept with the code, and what torch learns of shapes with its name. Without a look at the
    # method, neither may be shared with another's.
    batch_form.__code__ = batch_form.__code__.replace(co_name=f"batch_form_{next(NUMBERS)}")
    if mode is not None:  # torch takes a mode or options, but not both
        from torch._inductor import list_mode_options

        options = list_mode_options(mode) | (options or {})
    options = {"guard_filter_fn": _not_ours} | (options or {})
    return torch.compile(batch_form, fullgraph=True, options=options, **settings)


def _not_ours(guards: Sequence[Any]) -> list[bool]:
    """Which guards to keep: those of arguments, of torch's state, and of what a user's function reads."""
    return [not guard.name.startswith(OURS) for guard in guards]
