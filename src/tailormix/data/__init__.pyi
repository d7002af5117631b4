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

from .access.record import DataSplits as DataSplits
from .access.record import Split as Split
from .access.splitting import fingerprint as fingerprint
from .catalogue import DATASETS as DATASETS
from .catalogue import DataSet as DataSet
from .files.cifar_c_sums import CORRUPTIONS as CORRUPTIONS
from .files.errors import DataError as DataError
from .files.root import data_root as data_root
from .load import load as load
