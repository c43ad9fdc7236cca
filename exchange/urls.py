"""Where Django's pages live. The eligibility endpoint is answered before Django (see `wsgi`)."""

from django.urls import include, path

urlpatterns = [
    path("reports/", include("exchange.reports.urls")),
    path("", include("exchange.web.urls")),
]
