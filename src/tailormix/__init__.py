"""tailormix: train models whose confidence can be trusted.

The public names are listed in ``__init__.pyi`` and loaded on first use, so that ``import tailormix`` and
the command line start fast.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
