"""Installs Django's admin with our own rules about who may enter."""

from django.contrib.admin.apps import AdminConfig


class OperatorsAdminConfig(AdminConfig):
    default_site = "exchange.accounts.admin_site.OperatorsAdmin"
