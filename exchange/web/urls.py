"""The addresses of the pages."""

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, path

from exchange.web.kinds import KINDS
from exchange.web.views import (
    attributes,
    audiences,
    bookings,
    campaigns,
    edges,
    history,
    home,
    parties,
    retiring,
    sessions,
    snapshots,
    test_visits,
    value_lists,
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
    path(
        "campaigns/<int:campaign_pk>/tests/new/",
        test_visits.add_test_visit,
        name="test-visit-create",
    ),
    path("test-visits/<int:pk>/edit/", test_visits.edit_test_visit, name="test-visit-edit"),
    path("audiences/", audiences.list_audiences, name="audience-list"),
    path("audiences/new/", audiences.edit_audience, name="audience-create"),
    path("audiences/<int:pk>/", audiences.show_audience, name="audience-detail"),
    path("audiences/<int:pk>/edit/", audiences.edit_audience, name="audience-edit"),
    path("lists/", value_lists.list_value_lists, name="value-list-list"),
    path("lists/new/", value_lists.edit_value_list, name="value-list-create"),
    path("lists/new/compare/", value_lists.compare_value_list, name="value-list-compare-new"),
    path("lists/<int:pk>/", value_lists.show_value_list, name="value-list-detail"),
    path("lists/<int:pk>/edit/", value_lists.edit_value_list, name="value-list-edit"),
    path("lists/<int:pk>/compare/", value_lists.compare_value_list, name="value-list-compare"),
    path("lists/<int:pk>/values.txt", value_lists.download_value_list, name="value-list-values"),
    path("attributes/", attributes.list_attributes, name="attribute-list"),
    path("attributes/new/", attributes.edit_attribute, name="attribute-create"),
    path("attributes/<int:pk>/", attributes.show_attribute, name="attribute-detail"),
    path("attributes/<int:pk>/edit/", attributes.edit_attribute, name="attribute-edit"),
    path("visits/", visits.try_visit, name="try-visit"),
    path("snapshots/", snapshots.list_snapshots, name="snapshot-list"),
    path("snapshots/build/", snapshots.start_build, name="snapshot-build"),
    path("snapshots/progress/", snapshots.show_progress, name="snapshot-build-progress"),
    path("snapshots/<int:pk>/", snapshots.show_snapshot, name="snapshot-detail"),
]

for kind in KINDS.values():
    urlpatterns += [
        path(
            f"{kind.folder}/<int:pk>/retire/",
            retiring.retire,
            {"slug": kind.slug},
            name=f"{kind.slug}-retire",
        ),
        path(
            f"{kind.folder}/<int:pk>/history/",
            history.show_history,
            {"slug": kind.slug},
            name=f"{kind.slug}-history",
        ),
        path(
            f"{kind.folder}/<int:pk>/history/<int:number>/revert/",
            history.revert_to,
            {"slug": kind.slug},
            name=f"{kind.slug}-revert",
        ),
    ]
