"""Reports about the traffic itself, and checks of what the exchange says about it."""

from __future__ import annotations

from exchange.reports.night.campaign_reports import PUBLISHER
from exchange.reports.night.shapes import Bars, Choice, Column, Kind, NightReport, Part, Sees

DATA, CHECKS = "The data", "Checks"
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
SNAPSHOT = Column("snapshot_id", "Snapshot", "what they were given with", Kind.WORD)
CHANGE = Column("delta", "Change", "number of the last change beside it")
PARITY = NightReport(
    slug="parity",
    title="Parity",
    about="What ad servers answered, recomputed with the same snapshot. Mismatches must be zero.",
    group=CHECKS,
    job="parity",
    table="states",
    columns=(
        SNAPSHOT,
        CHANGE,
        Column("answers", "Answers", "sampled ones that were compared"),
        Column("mismatches", "Mismatches", "of these differ from what is recomputed"),
        Column("not_kept", "Not kept", "not compared: their snapshot or change is gone"),
        Column("recovered", "Recovered", "not compared: the server had lost its snapshot"),
        Column("bookings_left_out", "Left out", "served bookings that ask for what is masked"),
    ),
    sees=Sees.NOBODY,
    sort="-mismatches",
    bars=Bars(("snapshot_id", "delta"), (Part("answers"), Part("mismatches", "false"))),
    empty="Ad servers kept no answer of this day.",
    note="A sample of the answers of ad servers, not of the visit log.",
)
DIFFERENT = NightReport(
    slug="parity-mismatches",
    title="Answers that differ",
    about="Each sampled answer that is not what is recomputed, with the bookings in question.",
    group=CHECKS,
    job="parity",
    table="mismatches",
    columns=(
        Column("at", "Answered", "when, UTC", Kind.TEXT),
        SNAPSHOT,
        CHANGE,
        Column("only_served", "Only served", "bookings that only the server named", Kind.TEXT),
        Column("only_given_again", "Only recomputed", "bookings that it left out", Kind.TEXT),
        Column("visit", "Visit", "what was asked, masked", Kind.TEXT),
    ),
    sees=Sees.NOBODY,
    sort="at",
    empty="Not one sampled answer differs from what is recomputed.",
)
