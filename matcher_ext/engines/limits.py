"""Owns the error for an expression that a published matcher cannot take."""


class EngineLimitError(ValueError):
    """An expression is beyond a limit of this matcher; nothing was changed.

    `limit` is the limit's name, as the engine's constructor takes it.
    """

    def __init__(self, limit: str, most: int, needed: float) -> None:
        amount = f"{needed:,.0f}" if needed < 1e15 else "far more"
        super().__init__(f"{limit} is {most:,}, and this expression would need {amount}")
        self.limit = limit
