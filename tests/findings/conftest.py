"""The small exchange of the tests of pages."""

from tests.market.places import campaign, herald, northgate, soda
from tests.people import alice, operator
from tests.web.conftest import booking, edges, log_in

__all__ = [
    "alice",
    "booking",
    "campaign",
    "edges",
    "herald",
    "log_in",
    "northgate",
    "operator",
    "soda",
]
