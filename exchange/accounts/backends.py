"""Decides how people log in."""

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import AnonymousUser

from exchange.accounts.models import User


class DemoAwareBackend(ModelBackend):
    """Refuses accounts whose password is published, unless the exchange runs as a demo."""

    def user_can_authenticate(self, user: User | AnonymousUser | None) -> bool:
        if getattr(user, "is_demo", False) and not settings.DEMO_LOGINS:
            return False
        return super().user_can_authenticate(user)

    def get_user(self, user_id: int) -> User | None:
        """Reads the person with the organisation, which every page asks for."""
        user = User.objects.select_related("organisation").filter(pk=user_id).first()
        return user if self.user_can_authenticate(user) else None
