"""Gathers the market's tables: the exchange graph, what is sold over it, and what expressions may
use.

Expressions are kept as the text that a person wrote; services check them before they are saved.
What people edit is `Revised`: every change is kept, nothing is deleted, no id is used again.
"""

from exchange.market.models.attributes import Attribute
from exchange.market.models.audiences import Audience
from exchange.market.models.bookings import Booking
from exchange.market.models.campaigns import Campaign
from exchange.market.models.edges import Edge
from exchange.market.models.parties import Party
from exchange.market.models.revised import Revised
from exchange.market.models.test_visits import TestVisit
from exchange.market.models.uses import UsedValue, WithExpression
from exchange.market.models.value_lists import ValueList, ValueListVersion

__all__ = [
    "Attribute",
    "Audience",
    "Booking",
    "Campaign",
    "Edge",
    "Party",
    "Revised",
    "TestVisit",
    "UsedValue",
    "ValueList",
    "ValueListVersion",
    "WithExpression",
]
