"""Shows API keys in the operators' admin, to look up; they have pages of their own."""

from __future__ import annotations

from django.contrib import admin

from exchange.accounts.admin_site import ReadOnlyAdmin
from exchange.keys.models import ApiKey


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    exclude = ("hash",)
    list_display = ("name", "start", "organisation", "expires_at", "revoked_at", "last_used_at")
    list_select_related = ("organisation",)
    search_fields = ("name", "start")
