"""Lists the reports: every table of the night that people read, said once.

A report is a table of a job with words for its columns, a chart, and who sees which of its rows.
Pages, downloads and notebooks are made from these entries; a new table is a new entry.
"""

from __future__ import annotations

from exchange.reports.night.campaign_reports import (
    ALONE,
    BLOCKERS,
    CONDITIONS,
    DEAD,
    EDGES,
    ERRORS,
    FORECAST,
    FUNNEL,
    PARTNERS,
    REACH,
)
from exchange.reports.night.data_reports import (
    CHAINS,
    DIFFERENT,
    FATES,
    PARITY,
    PROPOSED,
    QUALITY,
    QUARANTINE,
    TOP_VALUES,
    UNMAPPED,
)
from exchange.reports.night.shapes import NightReport

REPORTS: dict[str, NightReport] = {
    report.slug: report
    for report in (
        REACH,
        ALONE,
        PARTNERS,
        FUNNEL,
        BLOCKERS,
        EDGES,
        CONDITIONS,
        FORECAST,
        ERRORS,
        DEAD,
        QUALITY,
        TOP_VALUES,
        UNMAPPED,
        FATES,
        QUARANTINE,
        CHAINS,
        PROPOSED,
        PARITY,
        DIFFERENT,
    )
}
