"""Shows every component that pages share, side by side, with made-up contents. For developers: the
page has an address in debug only."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from exchange.findings.status import Status
from exchange.market.models import Audience
from exchange.reports.sparklines import draw_sparkline
from exchange.web.campaign_lists import Sort
from exchange.web.forms import AudienceForm
from exchange.web.made_up import make_rehearsal, make_why
from exchange.web.views.listing import person_of

COUNTS = [120, 180, 90, 240, 260, 300, 210, 120, 190, 95, 250, 270, 330, 12_480]
STYLES = ["web/graph.css", "web/bench.css", "web/figures.css"]
# Has every widget of a row, a group in a group, a comment and a disabled row.
EXPRESSION = """# evenings only
local_time during 'Mon-Fri 17:00-23:00' and device.type in ('phone', 'tablet')
and (geo.city in ('Berlin', 'Bonn') or geo.location within 25 km of (52.52, 13.405))
#- user.consent
and user.age between 18 and 40 and user.segments none of ('pulse:travel')"""


@require_safe
def show_components(request: HttpRequest) -> HttpResponse:
    audience = Audience(organisation=person_of(request).organisation, expression=EXPRESSION)
    context = {
        "styles": STYLES,
        "form": AudienceForm(person=person_of(request), instance=audience),
        "statuses": [(status.value, status.label) for status in Status],
        "sparkline": draw_sparkline(COUNTS),
        "flat": draw_sparkline([0] * len(COUNTS)),
        "sort": Sort("name", is_descending=False),
        **make_rehearsal(person_of(request)),
        **make_why(),
    }
    return render(request, "components.html", context)
