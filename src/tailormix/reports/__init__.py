"""What people look at: evaluations with intervals, diagrams, and one self-contained page."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
