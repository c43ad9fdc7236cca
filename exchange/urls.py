"""Where Django's pages live. The eligibility endpoint is answered before Django (see `wsgi`)."""

from django.urls import include, path

urlpatterns = [
    path("", include("exchange.web.urls")),
]
