"""Owns visits that were prepared once: columns in blocks, and everything that is asked of them."""

from matcher_ext.tables.visit_table import VisitTable

__all__ = ["VisitTable"]
