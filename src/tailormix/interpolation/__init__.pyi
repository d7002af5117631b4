__all__ = ["Identity", "Linear"]

from .identity import Identity
from .linear import Linear
