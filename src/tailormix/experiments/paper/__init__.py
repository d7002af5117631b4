"""The paper's tables and figures, one data file each: settings, rows, and the published numbers."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
