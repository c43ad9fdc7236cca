from tests.accounts.logging_in import frank, quick_passwords
from tests.market.places import herald, soda
from tests.people import alice, bob, carol, dave, erin, operator

__all__ = [
    "alice",
    "bob",
    "carol",
    "dave",
    "erin",
    "frank",
    "herald",
    "operator",
    "quick_passwords",
    "soda",
]
