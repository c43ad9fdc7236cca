from typing import Any

from matcher_ext.engines.face import Engine

MAX_CONJUNCTIONS: int

class Translation(Engine):
    max_conjunctions: int
    def __init__(self, catalog: Any, *, max_conjunctions: int = ...) -> None: ...

class Conjunctive(Engine):
    max_conjunctions: int
    def __init__(self, catalog: Any, *, max_conjunctions: int = ...) -> None: ...
