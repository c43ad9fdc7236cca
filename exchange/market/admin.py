"""Shows the market in the operators' admin: to be read, expressions included, never changed
there."""

from __future__ import annotations

from django.contrib import admin

from exchange.accounts.admin_site import ReadOnlyAdmin
from exchange.market.models import (
    Attribute,
    Audience,
    Booking,
    Campaign,
    Edge,
    Party,
    TestVisit,
    ValueList,
)


@admin.register(Party)
class PartyAdmin(ReadOnlyAdmin):
    list_display = ("name", "kind", "seller_id", "organisation", "retired_at")
    list_filter = ("kind",)
    list_select_related = ("organisation",)
    search_fields = ("name", "seller_id")


@admin.register(Edge)
class EdgeAdmin(ReadOnlyAdmin):
    list_display = ("id", "seller", "buyer", "fee_percent", "is_active", "retired_at")
    list_filter = ("is_active", "is_disclosed")
    list_select_related = ("seller", "buyer")
    search_fields = ("=id", "seller__name", "buyer__name")


@admin.register(Campaign)
class CampaignAdmin(ReadOnlyAdmin):
    list_display = ("id", "name", "advertiser", "status", "starts_at", "ends_at", "retired_at")
    list_filter = ("status",)
    list_select_related = ("advertiser",)
    search_fields = ("=id", "=name")


@admin.register(Booking)
class BookingAdmin(ReadOnlyAdmin):
    list_display = ("id", "campaign", "publisher", "policy", "is_active", "retired_at")
    list_filter = ("policy", "is_active")
    list_select_related = ("campaign", "publisher")
    search_fields = ("=id",)


@admin.register(Audience)
class AudienceAdmin(ReadOnlyAdmin):
    list_display = ("name", "organisation", "version", "retired_at")
    list_select_related = ("organisation",)
    search_fields = ("name",)


@admin.register(ValueList)
class ValueListAdmin(ReadOnlyAdmin):
    list_display = ("name", "organisation", "type", "value_count", "retired_at")
    list_select_related = ("organisation",)
    search_fields = ("name",)


@admin.register(Attribute)
class AttributeAdmin(ReadOnlyAdmin):
    list_display = ("name", "type", "is_required", "is_personal", "retired_at")
    list_filter = ("type",)
    search_fields = ("name",)


@admin.register(TestVisit)
class TestVisitAdmin(ReadOnlyAdmin):
    list_display = ("name", "campaign", "expects_eligible", "retired_at")
    list_select_related = ("campaign",)
    search_fields = ("name",)
