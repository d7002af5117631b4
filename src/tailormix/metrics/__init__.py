"""Measures of accuracy and calibration: pure functions, and torchmetrics classes over them.

Functions take torch tensors or numpy arrays and return a Python float. The classes, in capitals or CamelCase,
hold sums that reduce over ranks; they are loaded on first use, so the functions work without torchmetrics.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
