"""Calibration after training: fitted on validation points, refused on test points.

Each calibrator has ``fit``, ``transform``, ``save`` and ``load``; ``mc_dropout`` and ``predict`` turn
dropout into a predicted standard deviation.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
