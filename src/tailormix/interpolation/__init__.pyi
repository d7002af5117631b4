__all__ = ["CutBox", "HiddenLayer", "Identity", "Linear"]

from .cut_box import CutBox
from .hidden_layer import HiddenLayer
from .identity import Identity
from .linear import Linear
