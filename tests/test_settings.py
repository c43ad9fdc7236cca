"""Settings are read in fresh processes, because Django reads them once per process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SAFE_PRODUCTION = {
    "TREELINE_MODE": "production",
    "TREELINE_SECRET_KEY": "k" * 50,
    "TREELINE_ALLOWED_HOSTS": "ads.example.com",
    "DATABASE_URL": "postgres://treeline@db.example.com/treeline",
    "REDIS_URL": "redis://redis.example.com/0",
}


def read_settings(expression: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("TREELINE_")}
    inherited.pop("DATABASE_URL", None)
    inherited.pop("REDIS_URL", None)
    code = f"from exchange import settings as s; print({expression})"
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_development_mode_needs_nothing_set() -> None:
    result = read_settings("(s.MODE, s.DEBUG, s.DEMO_LOGINS)")
    assert result.stdout.strip() == "('development', False, True)"


def test_production_mode_starts_with_safe_settings() -> None:
    result = read_settings(
        "(s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SECURE_HSTS_SECONDS > 0, s.DEMO_LOGINS)",
        **SAFE_PRODUCTION,
    )
    assert result.stdout.strip() == "(True, True, True, False)"


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("TREELINE_SECRET_KEY", "", "set TREELINE_SECRET_KEY"),
        ("TREELINE_SECRET_KEY", "short", "set TREELINE_SECRET_KEY"),
        ("TREELINE_DEBUG", "yes", "unset TREELINE_DEBUG"),
        ("TREELINE_ALLOWED_HOSTS", "*", "set TREELINE_ALLOWED_HOSTS"),
        ("TREELINE_ALLOWED_HOSTS", "", "set TREELINE_ALLOWED_HOSTS"),
        ("TREELINE_DEMO_LOGINS", "1", "unset TREELINE_DEMO_LOGINS"),
        ("DATABASE_URL", "", "set DATABASE_URL"),
        ("REDIS_URL", "", "set REDIS_URL"),
    ],
)
def test_production_mode_refuses_unsafe_settings(name: str, value: str, advice: str) -> None:
    result = read_settings("s.MODE", **(SAFE_PRODUCTION | {name: value}))
    assert result.returncode != 0
    assert "Refusing to start in production mode" in result.stderr
    assert advice in result.stderr


def test_production_mode_refuses_the_published_secret() -> None:
    published = read_settings("s.INSECURE_SECRET").stdout.strip()
    result = read_settings("s.MODE", **(SAFE_PRODUCTION | {"TREELINE_SECRET_KEY": published}))
    assert "set TREELINE_SECRET_KEY" in result.stderr


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("TREELINE_MODE", "prod", "must be development or production"),
        ("TREELINE_DEBUG", "perhaps", "must be yes or no"),
        ("TREELINE_NIGHTLY_REPORT_HOUR", "two", "must be a whole number"),
    ],
)
def test_a_bad_value_is_named(name: str, value: str, message: str) -> None:
    result = read_settings("s.MODE", **{name: value})
    assert result.returncode != 0
    assert f"{name} {message}" in result.stderr


def test_the_databases_address_says_what_differs_from_our_time_outs() -> None:
    ours = read_settings("s.DATABASES['default']['OPTIONS']['connect_timeout']")
    assert int(ours.stdout) > 0
    address = "postgres://treeline@db.example.com/treeline?connect_timeout=77"
    named = read_settings(
        "s.DATABASES['default']['OPTIONS']['connect_timeout']", DATABASE_URL=address
    )
    assert int(named.stdout) == 77


def test_logs_and_reports_may_be_at_urls(tmp_path: Path) -> None:
    """Shows that a URL of this machine is a folder, and that another one stays as it is."""
    places = {
        "TREELINE_VISIT_LOG_DIR": f"file://{tmp_path}/the%20log",
        "TREELINE_REPORT_DIR": "s3a://bucket/reports",
    }
    said = read_settings("[str(s.VISIT_LOG_DIR), s.REPORT_DIR, s.TRUTH_RATES_FILE.name]", **places)
    assert said.stdout.strip() == str(
        [f"{tmp_path}/the log", "s3a://bucket/reports", "truth_rates.json"]
    )
