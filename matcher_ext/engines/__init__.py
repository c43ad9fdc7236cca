"""Owns the published matchers, for tests and benchmarks."""

from matcher_ext.engines.paper import PaperTree
from matcher_ext.engines.scan import Scan

__all__ = ["PaperTree", "Scan"]
