"""The embedded servers as every test of the project uses them."""

import pytest
import redis
from django.db import connection


@pytest.mark.django_db
def test_the_database_of_the_tests_is_a_real_postgres() -> None:
    with connection.cursor() as cursor:
        cursor.execute("select version()")
        assert cursor.fetchone()[0].startswith("PostgreSQL")


def test_redis_answers_only_with_the_password(services: dict[str, str]) -> None:
    url = services["REDIS_URL"]
    with redis.Redis.from_url(url) as client:
        assert client.ping()
    if "@" in url:
        host = url.rpartition("@")[2]
        with redis.Redis.from_url(f"redis://{host}") as stranger, pytest.raises(redis.RedisError):
            stranger.ping()
