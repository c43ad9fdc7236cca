"""The small exchange of the tests of pages."""

from tests.market.places import campaign, herald, northgate, soda
from tests.people import alice, bob, carol, dave, erin, operator
from tests.web.conftest import booking, crowd, edges

__all__ = [
    "alice",
    "bob",
    "booking",
    "campaign",
    "carol",
    "crowd",
    "dave",
    "edges",
    "erin",
    "herald",
    "northgate",
    "operator",
    "soda",
]
