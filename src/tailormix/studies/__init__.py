"""Studies: data sets × methods × seeds with equal tuning budgets, as raw CSV files, tables and pictures."""

from tailormix.studies.study import STUDIES, Study, read_study

__all__ = ["STUDIES", "Study", "read_study"]
