"""Lists where Django's pages live. Ad servers are answered by another process
(`exchange.serving`)."""

from django.contrib import admin
from django.urls import include, path

from exchange.site.health import healthz, readyz
from exchange.site.metrics import metrics

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("", include("exchange.api.urls")),
    path("admin/", admin.site.urls),
    path("", include("exchange.web.urls")),
]

handler400 = "exchange.site.uploads.show_bad_request"
handler500 = "exchange.web.views.errors.show_server_error"
