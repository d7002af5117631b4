"""Calibration losses: criteria that go with any method, one small file each.

``criterion(logits, targets)`` returns one loss a sample, shape (n,), where the definition is a mean of such
terms, and a scalar where it is not (both forms of MMCE). Targets are class indices (n,) or rows (n, C) of
class probabilities, as mixing makes them; CRL alone takes indices only. ``catalogue.LOSSES`` names them all.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
