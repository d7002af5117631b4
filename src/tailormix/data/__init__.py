"""Data sets by name, published or of the user: train, validation and test splits in one record."""

from tailormix.data.files.location import DataError, data_root
from tailormix.data.registry import DATASETS, DataSet, load
from tailormix.data.shifted import CORRUPTIONS
from tailormix.data.splits import DataSplits, Split, fingerprint

__all__ = [
    "CORRUPTIONS",
    "DATASETS",
    "DataError",
    "DataSet",
    "DataSplits",
    "Split",
    "data_root",
    "fingerprint",
    "load",
]
