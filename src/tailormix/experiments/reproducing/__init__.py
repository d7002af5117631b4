"""From a table of the paper to numbers: which runs it takes, what they found, and how sure that is."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
