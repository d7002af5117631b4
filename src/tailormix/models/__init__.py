"""Models of the paper and CPU-sized ones; each names its embedding layer and its mixing stages."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
