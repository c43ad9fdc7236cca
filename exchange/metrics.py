"""`/metrics` of the people's process, hidden as that of the ad servers' is."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from exchange.serving.eligibility import service_for
from exchange.serving.metrics import CONTENT_TYPE, collect, may_read

FORWARDED_HEADERS = ("X-Forwarded-For", "Forwarded", "X-Real-Ip")


@login_not_required
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    authorization = request.headers.get("Authorization", "")
    if not may_read(own_address(request), authorization, settings.METRICS_TOKEN):
        raise Http404
    return HttpResponse(collect(service_for(settings.SNAPSHOT_DIR)), content_type=CONTENT_TYPE)


def own_address(request: HttpRequest) -> str:
    """A request that a proxy on this machine passes on comes from loopback, but is not local."""
    if any(name in request.headers for name in FORWARDED_HEADERS):
        return ""
    address: str = request.META.get("REMOTE_ADDR", "")
    return address
