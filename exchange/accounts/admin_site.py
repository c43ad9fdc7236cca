"""Django's admin for the exchange's operators: a look into the tables, read-mostly.

What has a service is changed through it, never here: a change past the services would skip checks,
impact and builds. Nothing is added or deleted.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.sites import AdminSite
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from exchange.accounts.models import Role, User
from exchange.accounts.permissions import is_exchange_operator


class OperatorsAdmin(AdminSite):
    site_header = "Treeline: the exchange's tables"
    site_title = "Treeline"
    index_title = "Look up"

    def has_permission(self, request: HttpRequest) -> bool:
        return is_exchange_operator(request.user)

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:  # noqa: ARG002
        """Sends people to the exchange's own log-in, which counts failed attempts."""
        if request.user.is_authenticated and not self.has_permission(request):
            raise PermissionDenied("This is for the exchange's operators.")
        answer: HttpResponseRedirect = redirect_to_login(request.GET.get("next", "/admin/"))
        return answer


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """An admin that everyone of the exchange reads; nobody changes anything, unless a subclass
    names `changeable` fields, which its administrators may change."""

    changeable: tuple[str, ...] = ()
    show_full_result_count = False
    list_per_page = 50

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_exchange_operator(request.user)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        return is_exchange_operator(request.user)

    def has_add_permission(self, request: HttpRequest, *_: Any) -> bool:  # noqa: ARG002
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        user = request.user
        if not self.changeable or not isinstance(user, User):
            return False
        return is_exchange_operator(user) and user.role == Role.ADMIN

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:  # noqa: ARG002
        names = [field.name for field in self.opts.fields]
        names += [field.name for field in self.opts.many_to_many]
        hidden = {*self.changeable, *(self.exclude or ())}
        return [name for name in names if name not in hidden]
