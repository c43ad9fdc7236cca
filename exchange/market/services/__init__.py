"""Offers the only way for people to change the market: allowed, checked, atomic, kept in the
history.

Whatever touches what is served asks for a new snapshot in the same transaction: a change cannot be
saved without its request, also while the broker is down.
"""

from exchange.market.expressions import check_expression
from exchange.market.services.attributes import retire_attribute, save_attribute
from exchange.market.services.audiences import retire_audience, save_audience
from exchange.market.services.bookings import book_publishers, retire_booking, save_booking
from exchange.market.services.campaigns import retire_campaign, save_campaign
from exchange.market.services.edges import retire_edge, save_edge
from exchange.market.services.parties import retire_party, save_party
from exchange.market.services.saving import StaleSaveError
from exchange.market.services.test_visits import (
    FailingVisitsError,
    Outcome,
    retire_test_visit,
    run_test_visits,
    save_test_visit,
)
from exchange.market.services.value_lists import (
    BadValueError,
    ValuesDifference,
    change_values,
    compare_values,
    retire_value_list,
    save_value_list,
    values_after,
)

__all__ = [
    "BadValueError",
    "FailingVisitsError",
    "Outcome",
    "StaleSaveError",
    "ValuesDifference",
    "book_publishers",
    "change_values",
    "check_expression",
    "compare_values",
    "retire_attribute",
    "retire_audience",
    "retire_booking",
    "retire_campaign",
    "retire_edge",
    "retire_party",
    "retire_test_visit",
    "retire_value_list",
    "run_test_visits",
    "save_attribute",
    "save_audience",
    "save_booking",
    "save_campaign",
    "save_edge",
    "save_party",
    "save_test_visit",
    "save_value_list",
    "values_after",
]
