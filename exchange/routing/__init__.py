"""Finds paths over the exchange graph: which way a booking's visits take, and what changes it.

Plain Python on plain values: no Django, no expressions. What an edge's expression says about a
visit comes in as a function, so that the compiled walk and this package can be compared.
"""

from exchange.routing.graph import MAX_HOPS, Graph, Link, Path, cheapest_paths, within
from exchange.routing.policies import BrokenPathError, Policy, pin_path

__all__ = [
    "MAX_HOPS",
    "BrokenPathError",
    "Graph",
    "Link",
    "Path",
    "Policy",
    "cheapest_paths",
    "pin_path",
    "within",
]
