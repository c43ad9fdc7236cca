from tests.reports.night.written import nights
from tests.trading import exchange

__all__ = ["exchange", "nights"]
