from tests.market.places import herald
from tests.people import erin, operator

__all__ = ["erin", "herald", "operator"]
