"""scikit-learn estimators that train with Mixup and whose probabilities and intervals are calibrated."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
