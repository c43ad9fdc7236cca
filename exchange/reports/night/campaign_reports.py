"""Reports about campaigns, bookings, edges and conditions: whom they reach, where visits are lost,
and what to expect."""

from __future__ import annotations

from exchange.reports.night.shapes import Bars, Choice, Column, Kind, NightReport, Part, Sees

REACHING, LOSING, EXPECTING = "Reach", "Where visits are lost", "What to expect"
CAMPAIGN = Column("campaign_id", "Campaign", "the campaign's number", Kind.CAMPAIGN)
PUBLISHER = Column("publisher", "Publisher", "the publisher's seller id", Kind.PUBLISHER)
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
    leaves_zeros="visits",
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
