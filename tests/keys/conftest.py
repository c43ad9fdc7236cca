from tests.market.places import herald, soda
from tests.people import alice, bob, carol, dave, erin, operator

__all__ = ["alice", "bob", "carol", "dave", "erin", "herald", "operator", "soda"]
