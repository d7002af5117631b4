"""Data sets by name, and your own: one uniform record of train, validation and test splits."""

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
