"""Data sets by name, and your own: one uniform record of train, validation and test splits."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
