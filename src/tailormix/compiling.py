"""The batch form, compiled, without the compiler's watch over this library's own code.

In every call of a compiled function torch looks again at each name that its code has read, in case somebody
has changed it since: a hundred names here, which takes as long as mixing a small batch. A method is immutable
and so is the library, so that only the arguments have to be looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor
    from torch.distributed import ProcessGroup

    from tailormix.method import Method
    from tailormix.plan import Plan

ARGUMENTS = ("x", "y", "embeddings", "plan", "group")


def compiled(method: Method, options: dict[str, Any] | None = None, **settings: Any) -> Callable[..., Any]:
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

    # Graphs are kept with the code, and without a look at the method they must not be shared with another's.
    batch_form.__code__ = batch_form.__code__.replace()
    options = {"guard_filter_fn": _of_arguments} | (options or {})
    return torch.compile(batch_form, fullgraph=True, options=options, **settings)


def _of_arguments(guards: Sequence[Any]) -> list[bool]:
    """Which guards to keep: those of arguments, and those of torch's state, which have no name."""
    return [not guard.name or guard.name.split(".")[0].split("[")[0] in ARGUMENTS for guard in guards]
