"""Shows organisations and people in the operators' admin. Only an organisation's name is edited
here; people have pages of their own."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.models import Group

from exchange.accounts.admin_site import ReadOnlyAdmin
from exchange.accounts.models import Organisation, User

admin.site.unregister(Group)


@admin.register(Organisation)
class OrganisationAdmin(ReadOnlyAdmin):
    changeable = ("name",)
    list_display = ("name", "is_operator")
    search_fields = ("name",)


@admin.register(User)
class UserAdmin(ReadOnlyAdmin):
    exclude = ("password", "groups", "user_permissions")
    list_display = ("username", "organisation", "role", "is_active", "last_login")
    list_filter = ("role", "is_active")
    list_select_related = ("organisation",)
    search_fields = ("username", "email")
