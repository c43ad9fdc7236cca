"""What an ad servers' process is told by its environment; it reads no other settings.

Imports nothing of the process itself: where its metrics go is decided before they are made.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from exchange.environment import SettingError, env_int, env_path, env_text

CHECKOUT = Path(__file__).resolve().parents[2]
DEFAULT_ADDRESS = "127.0.0.1:8001"
INSECURE_SECRET = "development-only-secret-never-use-it-in-production"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Configuration:
    """`answers_every`: one answer in so many is kept; 0 keeps none. `visits_per_second` is for each
    API key and process."""

    host: str
    port: int
    processes: int
    snapshot_dir: Path
    visits_per_second: int
    metrics_token: str
    secret_key: str
    answers_every: int
    answers_dir: Path
    answers_days: int
    answers_bytes: int
    log_level: str


def read_configuration() -> Configuration:
    var = env_path("TREELINE_VAR", CHECKOUT / "var")
    host, port = read_address("TREELINE_SERVING_ADDRESS", DEFAULT_ADDRESS)
    return Configuration(
        host=host,
        port=port,
        processes=max(env_int("TREELINE_SERVING_PROCESSES", 1), 1),
        snapshot_dir=env_path("TREELINE_SNAPSHOT_DIR", var / "snapshots"),
        visits_per_second=env_int("TREELINE_ELIGIBILITY_RATE", 50_000),
        metrics_token=env_text("TREELINE_METRICS_TOKEN"),
        secret_key=read_secret(),
        answers_every=env_int("TREELINE_ANSWER_LOG_EVERY", 100),
        answers_dir=env_path("TREELINE_ANSWER_LOG_DIR", var / "answers"),
        answers_days=env_int("TREELINE_ANSWER_LOG_DAYS", 14),
        answers_bytes=env_int("TREELINE_ANSWER_LOG_MEGABYTES", 5_000) * 1_000_000,
        log_level=env_text("TREELINE_LOG_LEVEL", "INFO"),
    )


def read_address(name: str, default: str) -> tuple[str, int]:
    """A host and a port, as `127.0.0.1:8001` or `[::1]:8001`."""
    text = env_text(name) or default
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise SettingError(f"{name} must be a host and a port like {default}, not {text!r}")
    return host.strip("[]"), int(port)


def read_secret() -> str:
    """Hashes what of a visit could name a person before it is kept."""
    secret = env_text("TREELINE_SECRET_KEY", INSECURE_SECRET)
    is_weak = secret == INSECURE_SECRET or len(secret) < 32
    if env_text("TREELINE_MODE") == "production" and is_weak:
        raise SettingError(
            "TREELINE_SECRET_KEY must be a random text of at least 32 characters in production"
        )
    return secret
