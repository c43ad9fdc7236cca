"""The addresses of the report pages."""

from django.urls import path

from exchange.reports import views

urlpatterns = [
    path("", views.show_eligible_visits, name="report-eligible-visits"),
    path("eligible-visits.csv", views.download_csv, name="report-csv"),
    path("runs/", views.show_runs, name="report-run-progress"),
    path("runs/start/", views.start_run, name="report-run"),
]
