"""Hypothesis: quick and always the same by default; ONCE_HYPOTHESIS=long looks further, by chance."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("quick", derandomize=True, max_examples=60, deadline=None, database=None)
settings.register_profile(
    "long", max_examples=5000, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("ONCE_HYPOTHESIS", "quick"))
