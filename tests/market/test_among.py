"""Many ids in one parameter mean what they do one by one."""

from __future__ import annotations

import pytest

from exchange.market.models import Booking, Campaign, Party

pytestmark = pytest.mark.django_db


def test_rows_are_found_by_their_id_or_by_what_they_point_to(soda: Party, herald: Party) -> None:
    summer, winter, _ = (
        Campaign.objects.create(advertiser=soda, name=name, expression="true")
        for name in ("Summer", "Winter", "Spring")
    )
    for campaign in Campaign.objects.all():
        Booking.objects.create(campaign=campaign, publisher=herald)
    chosen = [summer.pk, winter.pk, 999_999_999]
    assert set(Campaign.objects.filter(pk__among=chosen)) == {summer, winter}
    booked = Booking.objects.filter(campaign__among=chosen)
    assert {booking.campaign for booking in booked} == {summer, winter}
    assert not Campaign.objects.filter(pk__among=[]).exists()
    assert Campaign.objects.exclude(pk__among=chosen).get().name == "Spring"


def test_however_many_they_are_one_parameter() -> None:
    _, parameters = Campaign.objects.filter(pk__among=range(10_000)).query.sql_with_params()
    assert len(parameters) == 1
