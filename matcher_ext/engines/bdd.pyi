from typing import Any

from matcher_ext.engines.face import Engine

MAX_NODES: int

class Bdd(Engine):
    max_nodes: int
    def __init__(self, catalog: Any, *, max_nodes: int = ...) -> None: ...
