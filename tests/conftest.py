"""Settings of all tests."""

from hypothesis import HealthCheck, settings

settings.register_profile("prefixgate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("prefixgate")
