LIMITS: tuple[int, int, int, int]

class Stamps:
    clocks: tuple[str, ...]
    place: str
    def __init__(self, clocks: tuple[str, ...], place: str) -> None: ...
