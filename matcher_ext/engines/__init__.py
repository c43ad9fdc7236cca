"""Owns the published matchers, for tests, benchmarks and people who pick an index.

`ENGINES` maps each name to its class. All are built with a catalogue and have one face: `insert`,
`insert_many`, `delete`, `match`, `stats` (face.pxd). docs/matchers.md says what each is.
"""

from typing import Any

from matcher_ext.engines.bdd import Bdd
from matcher_ext.engines.bop import Bop
from matcher_ext.engines.conjunctions import Translation
from matcher_ext.engines.dexin import Dexin
from matcher_ext.engines.gryphon import Gryphon
from matcher_ext.engines.labelled import Dewey, Interval, ScanConjunctions
from matcher_ext.engines.limits import EngineLimitError
from matcher_ext.engines.overlapping import Naive, Sequential, Suborder
from matcher_ext.engines.paper import PaperTree
from matcher_ext.engines.product import FlatScan, FrozenATree, PaperATree
from matcher_ext.engines.scan import Scan

ENGINES: dict[str, type[Any]] = {
    "scan": FlatScan,
    "scan-conjunctions": ScanConjunctions,
    "dewey": Dewey,
    "interval": Interval,
    "dexin": Dexin,
    "gryphon": Gryphon,
    "naive": Naive,
    "sequential": Sequential,
    "suborder": Suborder,
    "bop": Bop,
    "bdd": Bdd,
    "translation": Translation,
    "paper-atree": PaperATree,
    "atree": FrozenATree,
}

__all__ = ["ENGINES", "EngineLimitError", "PaperTree", "Scan"]
