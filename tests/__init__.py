"""Owns all tests, in folders like those of the packages."""

from hypothesis import HealthCheck, settings

# A slow example tells of the machine, not of the code; the profile `ci` has no deadline already.
settings.register_profile(
    "default",
    settings.get_profile("default"),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
