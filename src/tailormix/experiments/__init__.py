"""Experiments: what is trained on what, as data in files, and the runs that come of it."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
