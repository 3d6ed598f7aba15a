"""Settings shared by all tests: hypothesis without deadlines (machines differ), moderate numbers of examples.

The default profile draws the same examples on every run, so that a failure belongs to the change that causes it;
`HYPOTHESIS_PROFILE=long` draws many new ones.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "default", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
