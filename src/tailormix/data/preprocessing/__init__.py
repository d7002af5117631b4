"""From raw inputs, as a user has them, to the inputs of a model; fitted on training rows only."""

from tailormix.data.preprocessing.arrays import ArrayPreprocessing
from tailormix.data.preprocessing.base import Preprocessing
from tailormix.data.preprocessing.images import ImagePreprocessing
from tailormix.data.preprocessing.saving import PREPROCESSINGS, load_preprocessing, save_preprocessing
from tailormix.data.preprocessing.tables import TablePreprocessing
from tailormix.data.preprocessing.texts import TextPreprocessing

__all__ = [
    "PREPROCESSINGS",
    "ArrayPreprocessing",
    "ImagePreprocessing",
    "Preprocessing",
    "TablePreprocessing",
    "TextPreprocessing",
    "load_preprocessing",
    "save_preprocessing",
]
