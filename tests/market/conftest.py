from tests.market.places import campaign, herald, northgate, soda
from tests.people import alice, bob, carol, dave, erin, operator

__all__ = [
    "alice",
    "bob",
    "campaign",
    "carol",
    "dave",
    "erin",
    "herald",
    "northgate",
    "operator",
    "soda",
]
