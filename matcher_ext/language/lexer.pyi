KEYWORDS: dict[str, int]
