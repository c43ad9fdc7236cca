from typing import Any

from matcher_ext.engines.face import Engine

MAX_WORDS: int

class Bop(Engine):
    max_words: int
    def __init__(self, catalog: Any, *, max_words: int = ...) -> None: ...
