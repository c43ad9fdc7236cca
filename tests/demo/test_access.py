from __future__ import annotations

from django.utils import timezone

from exchange.accounts.models import Organisation, User
from exchange.demo.access import disable_demo_access
from exchange.keys.models import ApiKey
from exchange.keys.services import create_api_key
from exchange.market.models import Party


def test_ending_demo_access_leaves_real_people_and_keys_alone(
    operator: Organisation, herald: Party, erin: User
) -> None:
    User.objects.create_user("viewer", organisation=operator, is_demo=True)
    real, _ = create_api_key(name="real", organisation=operator, publishers=[herald])
    create_api_key(name="demo", organisation=operator, publishers=[herald], is_demo=True)
    assert disable_demo_access() == (1, 1)
    assert disable_demo_access() == (0, 0)
    assert list(User.objects.filter(is_active=True)) == [erin]
    assert list(ApiKey.objects.usable(timezone.now())) == [real]
