"""Owns what the visit log looks like: its folders, its columns, and what a visit becomes in it.

Servers write it, jobs read it and write it again, pages look into it; none knows another. What is
kept, how long, and how people are hidden in it is written down in `pipelines/README.md`.
"""

from matcher_ext.visits import PUBLISHER
from targeting.visit_log.columns import (
    ARROW_TYPES,
    OF_THE_ROW,
    SALT,
    TIME,
    USER,
    USER_BEFORE,
    VISIT_ID,
    WEIGHT,
    WRONG_VALUES,
    LogColumns,
)
from targeting.visit_log.folders import INCOMING, find_newest_part, incoming_folder, list_days
from targeting.visit_log.rows import RowMaker
from targeting.visit_log.salts import WINDOW_DAYS, Salts

__all__ = [
    "ARROW_TYPES",
    "INCOMING",
    "OF_THE_ROW",
    "PUBLISHER",
    "SALT",
    "TIME",
    "USER",
    "USER_BEFORE",
    "VISIT_ID",
    "WEIGHT",
    "WINDOW_DAYS",
    "WRONG_VALUES",
    "LogColumns",
    "RowMaker",
    "Salts",
    "find_newest_part",
    "incoming_folder",
    "list_days",
]
