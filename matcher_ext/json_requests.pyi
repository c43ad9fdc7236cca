LIMITS: tuple[int, int]
