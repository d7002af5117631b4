__all__ = ["PAPER", "Column", "Row", "Table", "TableSetting", "Value", "read_table"]

from .catalogue import PAPER as PAPER
from .reading import read_table as read_table
from .records import Column as Column
from .records import Row as Row
from .records import TableSetting as TableSetting
from .records import Value as Value
from .table import Table as Table
