"""Tests of everything, in folders as the packages."""

from hypothesis import HealthCheck, settings

# An example that takes long says something of the machine, not of the code; `ci` has it so already.
settings.register_profile(
    "default",
    settings.get_profile("default"),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
