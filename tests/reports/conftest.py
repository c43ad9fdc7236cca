from tests.market.places import campaign, herald, northgate, soda
from tests.people import alice, bob, carol, dave, erin, operator
from tests.reports.summaries import gazette, report_folder, summer_report, visit_log

__all__ = [
    "alice",
    "bob",
    "campaign",
    "carol",
    "dave",
    "erin",
    "gazette",
    "herald",
    "northgate",
    "operator",
    "report_folder",
    "soda",
    "summer_report",
    "visit_log",
]
