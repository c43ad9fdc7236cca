"""The addresses of the pages."""

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, path

from exchange.web.views import (
    bookings,
    campaigns,
    edges,
    home,
    parties,
    sessions,
    snapshots,
    visits,
)

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home.show_dashboard, name="dashboard"),
    path("login/", sessions.LogIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("parties/", parties.list_parties, name="party-list"),
    path("parties/new/", parties.edit_party, name="party-create"),
    path("parties/<int:pk>/", parties.show_party, name="party-detail"),
    path("parties/<int:pk>/edit/", parties.edit_party, name="party-edit"),
    path("edges/", edges.list_edges, name="edge-list"),
    path("edges/new/", edges.edit_edge, name="edge-create"),
    path("edges/<int:pk>/", edges.show_edge, name="edge-detail"),
    path("edges/<int:pk>/edit/", edges.edit_edge, name="edge-edit"),
    path("campaigns/", campaigns.list_campaigns, name="campaign-list"),
    path("campaigns/new/", campaigns.edit_campaign, name="campaign-create"),
    path("campaigns/options/", campaigns.suggest_campaigns, name="campaign-options"),
    path("campaigns/<int:pk>/", campaigns.show_campaign, name="campaign-detail"),
    path("campaigns/<int:pk>/edit/", campaigns.edit_campaign, name="campaign-edit"),
    path("campaigns/<int:pk>/status/", campaigns.set_status, name="campaign-status"),
    path("bookings/", bookings.list_bookings, name="booking-list"),
    path("bookings/new/", bookings.edit_booking, name="booking-create"),
    path("bookings/<int:pk>/", bookings.show_booking, name="booking-detail"),
    path("bookings/<int:pk>/edit/", bookings.edit_booking, name="booking-edit"),
    path("visits/", visits.try_visit, name="try-visit"),
    path("snapshots/", snapshots.list_snapshots, name="snapshot-list"),
    path("snapshots/build/", snapshots.start_build, name="snapshot-build"),
    path("snapshots/progress/", snapshots.show_progress, name="snapshot-build-progress"),
    path("snapshots/<int:pk>/", snapshots.show_snapshot, name="snapshot-detail"),
]
