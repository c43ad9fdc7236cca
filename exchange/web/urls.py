"""The addresses of the pages."""

from django.conf import settings
from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, path

from exchange.web.kinds import KINDS
from exchange.web.views import (
    api_keys,
    attributes,
    audiences,
    bookings,
    campaign_lists,
    campaign_tabs,
    campaigns,
    components,
    edges,
    finding_things,
    findings,
    graph,
    history,
    home,
    organisations,
    parties,
    passwords,
    people,
    rehearsals,
    reports,
    retiring,
    sessions,
    snapshots,
    test_visits,
    value_lists,
    visits,
    why_not,
)

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home.show_dashboard, name="dashboard"),
    path("login/", sessions.LogIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("password/", sessions.ChangePassword.as_view(), name="password-change"),
    path("password/forgotten/", passwords.ask_for_link, name="password-forgotten"),
    path("welcome/<str:secret>/", passwords.choose, name="password-link"),
    path("find/", finding_things.find, name="find"),
    path("parties/", parties.list_parties, name="party-list"),
    path("parties/new/", parties.edit_party, name="party-create"),
    path("parties/options/", parties.suggest_parties, name="party-options"),
    path("parties/<int:pk>/", parties.show_party, name="party-detail"),
    path("parties/<int:pk>/edit/", parties.edit_party, name="party-edit"),
    path("edges/", edges.list_edges, name="edge-list"),
    path("edges/new/", edges.edit_edge, name="edge-create"),
    path("edges/<int:pk>/", edges.show_edge, name="edge-detail"),
    path("edges/<int:pk>/edit/", edges.edit_edge, name="edge-edit"),
    path("graph/", graph.show_graph, name="graph"),
    path("graph/groups/", graph.show_groups, name="graph-groups"),
    path("graph/parties/<int:pk>/", graph.show_party, name="graph-party"),
    path("graph/parties/<int:pk>/drawer/", graph.show_party_drawer, name="graph-party-drawer"),
    path("graph/edges/<int:pk>/drawer/", graph.show_edge_drawer, name="graph-edge-drawer"),
    path("campaigns/", campaign_lists.list_campaigns, name="campaign-list"),
    path("campaigns/campaigns.csv", campaign_lists.download_campaigns, name="campaign-csv"),
    path("campaigns/views/", campaign_lists.save_view, name="campaign-view-save"),
    path(
        "campaigns/views/<int:pk>/remove/",
        campaign_lists.remove_view,
        name="campaign-view-remove",
    ),
    path("campaigns/new/", campaigns.edit_campaign, name="campaign-create"),
    path("campaigns/options/", campaigns.suggest_campaigns, name="campaign-options"),
    path("campaigns/<int:pk>/", campaigns.show_campaign, name="campaign-detail"),
    path("campaigns/<int:pk>/bookings/", campaign_tabs.show_bookings, name="campaign-bookings"),
    path("campaigns/<int:pk>/book/", campaign_tabs.book, name="campaign-book"),
    path("campaigns/<int:pk>/served/", campaign_tabs.show_served, name="campaign-served"),
    path("campaigns/<int:pk>/tests/", campaign_tabs.show_tests, name="campaign-tests"),
    path("campaigns/<int:pk>/why/", why_not.show_why, name="campaign-why"),
    path("campaigns/<int:pk>/why/ask/", why_not.ask, name="campaign-ask"),
    path("questions/<int:pk>/settle/", why_not.settle, name="question-settle"),
    path("campaigns/<int:pk>/api/", campaign_tabs.show_api, name="campaign-api"),
    path("campaigns/<int:pk>/edit/", campaigns.edit_campaign, name="campaign-edit"),
    path("campaigns/<int:pk>/status/", campaigns.set_status, name="campaign-status"),
    path("findings/", findings.list_findings, name="finding-list"),
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
    path("lists/<int:pk>/change/", value_lists.change_value_list, name="value-list-change"),
    path("lists/<int:pk>/compare/", value_lists.compare_value_list, name="value-list-compare"),
    path("lists/<int:pk>/values.txt", value_lists.download_value_list, name="value-list-values"),
    path("attributes/", attributes.list_attributes, name="attribute-list"),
    path("attributes/new/", attributes.edit_attribute, name="attribute-create"),
    path("attributes/<int:pk>/", attributes.show_attribute, name="attribute-detail"),
    path("attributes/<int:pk>/edit/", attributes.edit_attribute, name="attribute-edit"),
    path("api-keys/", api_keys.list_api_keys, name="api-key-list"),
    path("api-keys/new/", api_keys.make_api_key, name="api-key-create"),
    path("api-keys/<int:pk>/revoke/", api_keys.end_api_key, name="api-key-revoke"),
    path("organisations/", organisations.list_organisations, name="organisation-list"),
    path("organisations/new/", organisations.edit_organisation, name="organisation-create"),
    path("organisations/<int:pk>/edit/", organisations.edit_organisation, name="organisation-edit"),
    path("people/", people.list_people, name="person-list"),
    path("people/new/", people.edit_person, name="person-create"),
    path("people/organisations/", people.suggest_organisations, name="organisation-options"),
    path("people/<int:pk>/edit/", people.edit_person, name="person-edit"),
    path("people/<int:pk>/password/", people.renew_password, name="person-password"),
    path("people/<int:pk>/switch/", people.switch_person, name="person-switch"),
    path("visits/", visits.try_visit, name="try-visit"),
    path("reports/", reports.show_eligible_visits, name="report-eligible-visits"),
    path("reports/eligible-visits.csv", reports.download_csv, name="report-csv"),
    path("reports/runs/", reports.show_runs, name="report-run-progress"),
    path("reports/runs/start/", reports.start_run, name="report-run"),
    path("snapshots/", snapshots.list_snapshots, name="snapshot-list"),
    path("snapshots/build/", snapshots.start_build, name="snapshot-build"),
    path("snapshots/progress/", snapshots.show_progress, name="snapshot-build-progress"),
    path("snapshots/compare/", snapshots.compare, name="snapshot-compare"),
    path("snapshots/<int:pk>/", snapshots.show_snapshot, name="snapshot-detail"),
    path("snapshots/<int:pk>/activate/", snapshots.activate_build, name="snapshot-activate"),
    path("snapshots/<int:pk>/roll-back/", snapshots.roll_back_to, name="snapshot-roll-back"),
]

if settings.DEBUG:
    urlpatterns.append(path("components/", components.show_components, name="components"))

for slug in rehearsals.OPENERS:
    urlpatterns.append(
        path(
            f"{KINDS[slug].folder}/<int:pk>/rehearse/",
            rehearsals.rehearse_form,
            {"slug": slug},
            name=f"{slug}-rehearse",
        )
    )
# A new audience or list is used by nobody yet.
for slug in ("edge", "attribute"):
    urlpatterns.append(
        path(
            f"{KINDS[slug].folder}/new/rehearse/",
            rehearsals.rehearse_form,
            {"slug": slug},
            name=f"{slug}-rehearse-new",
        )
    )

for kind in KINDS.values():
    urlpatterns += [
        path(
            f"{kind.folder}/<int:pk>/retire/",
            retiring.retire,
            {"slug": kind.slug},
            name=kind.url_name("retire"),
        ),
        path(
            f"{kind.folder}/<int:pk>/history/",
            history.show_history,
            {"slug": kind.slug},
            name=kind.url_name("history"),
        ),
        path(
            f"{kind.folder}/<int:pk>/history/<int:number>/revert/",
            history.revert_to,
            {"slug": kind.slug},
            name=kind.url_name("revert"),
        ),
    ]
