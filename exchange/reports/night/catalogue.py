"""The catalogue of reports: every table of the night that people read, said once.

A report is a table of a job with words for its columns, a chart, and who sees which of its rows.
Pages, downloads and notebooks are made from these entries; a new table is a new entry.
"""

from __future__ import annotations

from exchange.reports.night.shapes import Bars, Choice, Column, Kind, NightReport, Part, Sees

CAMPAIGN = Column("campaign_id", "Campaign", "the campaign's number", Kind.CAMPAIGN)
PUBLISHER = Column("publisher", "Publisher", "the publisher's seller id", Kind.PUBLISHER)
REACHING, LOSING, EXPECTING, DATA, CHECKS = (
    "Reach",
    "Where visits are lost",
    "What to expect",
    "The data",
    "Checks",
)
LOST = (Part("passed"), Part("lost_to_false", "false"), Part("lost_to_unknown", "unknown"))
COUNTS = (
    Column("came", "Came", "visits that came to this step"),
    Column("passed", "Passed", "visits that it let pass"),
    Column("lost_to_false", "Lost to false", "visits whose values it excludes"),
    Column("lost_to_unknown", "Lost to unknown", "visits that do not say what it asks for"),
)

REACH = NightReport(
    slug="reach",
    title="Reach",
    about="How many people each campaign was eligible for, in 1, 7 and 28 days, and how often.",
    group=REACHING,
    job="reach",
    table="reach",
    columns=(
        CAMPAIGN,
        Column("window_days", "Days", "how many days are united, up to this one"),
        Column("days_counted", "Days counted", "how many of them were counted"),
        Column("visits", "Visits", "eligible visits of known users"),
        Column("users", "Users", "different users, with an error of 1.6 percent", Kind.USERS),
        Column("frequency", "Frequency", "visits per user", Kind.DECIMAL, derived_from="users"),
    ),
    sees=Sees.CAMPAIGN,
    sort="-users",
    bars=Bars(("campaign_id",), (Part("users"),)),
    choice=Choice(
        "window_days", "Window", (("1", "1 day"), ("7", "7 days"), ("28", "28 days")), "7"
    ),
    empty="No campaign reached a known user in these days.",
)
ALONE = NightReport(
    slug="exclusive-reach",
    title="Exclusive reach",
    about="Visits that each campaign was eligible for at a publisher, and those it had alone.",
    group=REACHING,
    job="overlap",
    table="alone",
    columns=(
        PUBLISHER,
        CAMPAIGN,
        Column("visits", "Visits", "that it was eligible for at the publisher"),
        Column("exclusive_visits", "Alone", "visits that no other campaign was eligible for"),
        Column("users", "Users", "different users, by a sketch", Kind.USERS),
    ),
    sees=Sees.BOOKING,
    sort="-visits",
    bars=Bars(("campaign_id", "publisher"), (Part("exclusive_visits"),)),
)
PARTNERS = NightReport(
    slug="overlap-pairs",
    title="Pairs of campaigns",
    about="Of each campaign at a publisher, the 50 that it shares most visits with.",
    group=REACHING,
    job="overlap",
    table="partners",
    columns=(
        PUBLISHER,
        CAMPAIGN,
        Column("partner_id", "And", "the other campaign's number", Kind.CAMPAIGN),
        Column("rank", "Rank", "among its partners there"),
        Column("visits_both", "Visits of both", "20 or more"),
        Column("share_of_visits", "Share", "of the first campaign's visits", Kind.SHARE),
        Column("users_both", "Users of both", "different users, by a sketch", Kind.USERS),
    ),
    sees=Sees.PAIR,
    sort="-visits_both",
    bars=Bars(("campaign_id", "partner_id", "publisher"), (Part("visits_both"),)),
)
FUNNEL = NightReport(
    slug="funnel",
    title="Funnel",
    about="How many visits come to each step on the way to a booking, and why the rest is lost.",
    group=LOSING,
    job="funnel",
    table="steps",
    columns=(
        CAMPAIGN,
        PUBLISHER,
        Column("booking_id", "Booking", "the booking's number", Kind.WORD),
        Column("step", "Step", "its place on the way, from 0"),
        Column("name", "What is asked", "an edge's rule, any path, or the campaign", Kind.STEP),
        *COUNTS,
    ),
    sees=Sees.BOOKING,
    sort="-lost_to_false",
    bars=Bars(
        ("campaign_id", "publisher", "name"), LOST, order=("campaign_id", "booking_id", "step")
    ),
)
BLOCKERS = NightReport(
    slug="blockers",
    title="Sole blockers",
    about="Conditions that alone keep visits from a booking: everything else lets them pass.",
    group=LOSING,
    job="funnel",
    table="blockers",
    columns=(
        CAMPAIGN,
        PUBLISHER,
        Column("booking_id", "Booking", "the booking's number", Kind.WORD),
        Column("condition", "Condition", "the one that is to blame", Kind.TEXT),
        Column("visits", "Visits", "that only this condition keeps out"),
    ),
    sees=Sees.NOBODY,
    sort="-visits",
    bars=Bars(("campaign_id", "condition"), (Part("visits"),)),
)
EDGES = NightReport(
    slug="edges",
    title="Edges",
    about="What each edge lets pass, summed up over the bookings behind it.",
    group=LOSING,
    job="funnel",
    table="edges",
    columns=(
        Column("edge", "Edge", "the edge's number", Kind.EDGE),
        Column("bookings", "Bookings", "whose path goes over it"),
        Column("bookings_harmed", "Of these harmed", "bookings that lose visits here"),
        *COUNTS,
    ),
    sees=Sees.NOBODY,
    sort="-lost_to_false",
    bars=Bars(("edge",), LOST),
    note="A visit counts once for each booking that it is on its way to.",
)
CONDITIONS = NightReport(
    slug="truth-rates",
    title="How often conditions hold",
    about="Of all visits of the day, how often each condition and each edge's rule was true.",
    group=LOSING,
    job="truth_rates",
    table="conditions",
    columns=(
        Column("kind", "Kind", "predicate or edge", Kind.WORD),
        Column("condition", "Condition", "its text, or the edge's number", Kind.NAMED),
        Column("true_visits", "True", "visits that it is true of"),
        Column("false_visits", "False", "visits that it is false of"),
        Column("unknown_visits", "Unknown", "visits that do not say what it asks for"),
    ),
    sees=Sees.NOBODY,
    sort="-false_visits",
    bars=Bars(
        ("condition",),
        (Part("true_visits"), Part("false_visits", "false"), Part("unknown_visits", "unknown")),
    ),
    choice=Choice("kind", "Kind", (("predicate", "Conditions"), ("edge", "Edges"))),
)
FORECAST = NightReport(
    slug="forecast",
    title="Forecast",
    about="Eligible visits to expect on each of the next seven days, from the last 28.",
    group=EXPECTING,
    job="forecast",
    table="expected",
    columns=(
        CAMPAIGN,
        Column("target_day", "Day", "the day that is expected", Kind.DAY),
        Column("expected", "Expected", "eligible visits", Kind.DECIMAL),
        Column("low", "Low", "95 of 100 days have more", Kind.DECIMAL),
        Column("high", "High", "95 of 100 days have fewer", Kind.DECIMAL),
        Column("days_used", "Days used", "how many days it was learned from"),
    ),
    sees=Sees.CAMPAIGN,
    sort="-expected",
    bars=Bars(("target_day",), (Part("expected"),), is_summed=True, low="low", high="high"),
    note="A day-of-week-adjusted mean. The interval is of one campaign, not of a sum.",
)
ERRORS = NightReport(
    slug="forecast-error",
    title="Forecast error",
    about="How wrong last week's forecast was: the days' errors through the visits there were.",
    group=EXPECTING,
    job="forecast",
    table="errors",
    columns=(
        CAMPAIGN,
        Column("wape", "Error (WAPE)", "of the seven days; no campaign: of all", Kind.SHARE),
        Column("days", "Days", "how many days were compared"),
    ),
    sees=Sees.CAMPAIGN,
    sort="-wape",
    bars=Bars(("campaign_id",), (Part("wape", "false"),)),
    empty="There is no forecast of a week ago to compare with.",
)
DEAD = NightReport(
    slug="dead-targeting",
    title="Dead targeting",
    about="Campaigns, edges and conditions that nothing matched in the last 28 days.",
    group=EXPECTING,
    job="forecast",
    table="dead",
    columns=(
        Column("kind", "Kind", "campaign, edge or predicate", Kind.WORD),
        Column("name", "What", "its number, or its text", Kind.NAMED),
        Column("days_counted", "Days counted", "in how many days it was looked for"),
    ),
    sees=Sees.NAMED,
    sort="-days_counted",
    bars=Bars(("kind",), (), is_summed=True),
    choice=Choice(
        "kind",
        "Kind",
        (("campaign", "Campaigns"), ("edge", "Edges"), ("predicate", "Conditions")),
    ),
    empty="Everything matched something.",
)
QUALITY = NightReport(
    slug="data-quality",
    title="Data quality",
    about="How full each attribute is, what does not fit it, and how far it is from last week.",
    group=DATA,
    job="data_quality",
    table="attributes",
    columns=(
        Column("attribute", "Attribute", "its name in the catalogue", Kind.WORD),
        Column("type", "Type", "its type", Kind.WORD),
        Column("visits", "Visits", "of the day"),
        Column("filled", "Filled", "visits that carry it"),
        Column("wrong_type", "Wrong type", "values that do not fit the type"),
        Column("unknown_values", "Outside its domain", "values that the catalogue does not list"),
        Column("distinct_values", "Values", "how many different ones"),
        Column("fill_rate", "Fill rate", "filled through visits", Kind.SHARE),
        Column("fill_rate_before", "Before", "median of the seven days before", Kind.SHARE),
        Column("drift", "Drift", "fill rate less the one before", Kind.DECIMAL),
    ),
    sees=Sees.NOBODY,
    sort="fill_rate",
    bars=Bars(("attribute",), (Part("fill_rate"),)),
)
TOP_VALUES = NightReport(
    slug="top-values",
    title="Most frequent values",
    about="The 20 values of each attribute that most visits carry.",
    group=DATA,
    job="data_quality",
    table="top_values",
    columns=(
        Column("attribute", "Attribute", "its name in the catalogue", Kind.WORD),
        Column("value", "Value", "as text", Kind.TEXT),
        Column("visits", "Visits", "that carry it"),
        Column("rank", "Rank", "within its attribute"),
    ),
    sees=Sees.NOBODY,
    sort="-visits",
    bars=Bars(("attribute", "value"), (Part("visits"),)),
)
UNMAPPED = NightReport(
    slug="unmapped-keys",
    title="Unmapped keys",
    about="Columns of the log that no attribute of the catalogue maps.",
    group=DATA,
    job="data_quality",
    table="unmapped",
    columns=(
        Column("key", "Key", "the column", Kind.WORD),
        Column("rows", "Rows", "that carry it"),
    ),
    sees=Sees.NOBODY,
    sort="-rows",
    bars=Bars(("key",), (Part("rows"),)),
    empty="Every column of the log has an attribute.",
)
FATES = NightReport(
    slug="rows",
    title="What became of the log's rows",
    about="How many visits of the log were counted, came late, came twice or could not be read.",
    group=DATA,
    job="data_quality",
    table="rows",
    columns=(
        Column("fate", "What became of them", "counted, late, duplicate or malformed", Kind.WORD),
        Column("visits", "Visits", "that the rows stand for"),
    ),
    sees=Sees.NOBODY,
    sort="-visits",
    bars=Bars(("fate",), (Part("visits"),)),
)
QUARANTINE = NightReport(
    slug="quarantine",
    title="Quarantine",
    about="Rows of the log that no report counts, one by one, each with its reason.",
    group=DATA,
    job="quarantine",
    table="rows",
    columns=(
        PUBLISHER,
        Column("visit_id", "Visit", "the row's visit id", Kind.TEXT),
        Column("reason", "Reason", "why it does not count", Kind.WORD),
        Column("visit_weight", "Visits", "that it stands for"),
        Column("source_file", "File", "of the log", Kind.TEXT, is_internal=True),
        Column("source_row", "Row", "in the file", is_internal=True),
    ),
    sees=Sees.PUBLISHER,
    sort="reason",
    bars=Bars(("reason",), (Part("visit_weight", "false"),), is_summed=True),
    choice=Choice(
        "reason",
        "Reason",
        (
            ("duplicate", "Duplicate"),
            ("no_visit_id", "No visit id"),
            ("no_publisher", "No publisher"),
            ("no_time", "No time"),
            ("later_day", "Of a later day"),
        ),
    ),
    empty="Every row of the log was counted.",
)
CHAINS = NightReport(
    slug="supply-chains",
    title="Supply chains",
    about="The supply chains that visits came with, against the graph of the exchange.",
    group=CHECKS,
    job="schain_audit",
    table="chains",
    columns=(
        PUBLISHER,
        Column("chain", "Chain", "its nodes, domain/seller id", Kind.TEXT),
        Column("is_complete", "Complete", "whether it says that no node is missing", Kind.WORD),
        Column("verdict", "Verdict", "known, or what is wrong with it", Kind.WORD),
        Column("first_unknown", "First unknown", "the node that is no party", Kind.TEXT),
        Column("visits", "Visits", "that came with it"),
    ),
    sees=Sees.PUBLISHER,
    sort="-visits",
    bars=Bars(("verdict",), (Part("visits"),), is_summed=True),
    choice=Choice(
        "verdict",
        "Verdict",
        (
            ("known", "Known"),
            ("incomplete", "Incomplete"),
            ("unknown_hop", "Unknown hop"),
            ("unauthorised", "Unauthorised"),
        ),
    ),
    empty="No visit came with a supply chain.",
)
PROPOSED = NightReport(
    slug="proposed-edges",
    title="Edges to consider",
    about="Pairs of parties that sell to each other in traffic, but not in the graph.",
    group=CHECKS,
    job="schain_audit",
    table="edges",
    columns=(
        Column("seller", "Seller", "its node in chains", Kind.TEXT),
        Column("buyer", "Buyer", "its node in chains", Kind.TEXT),
        Column("visits", "Visits", "that were sold so"),
    ),
    sees=Sees.NOBODY,
    sort="-visits",
    bars=Bars(("seller", "buyer"), (Part("visits"),)),
    empty="Traffic shows no sale that the graph does not know.",
)
PARITY = NightReport(
    slug="parity",
    title="Parity",
    about="What ad servers answered, recomputed with the same snapshot. Mismatches must be zero.",
    group=CHECKS,
    job="parity",
    table="mismatches",
    columns=(),
    sees=Sees.NOBODY,
    sort="",
    empty="Not one sampled answer differs from what is recomputed.",
)

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
    )
}
