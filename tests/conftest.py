"""Deterministic by default: fixed seeds, no clocks. ``make fuzz`` selects the profile that keeps searching."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("test", derandomize=True, database=None, **_COMMON)
settings.register_profile("fuzz", max_examples=int(os.environ.get("TEETOTAL_EXAMPLES", "20000")), **_COMMON)
settings.load_profile(os.environ.get("TEETOTAL_PROFILE", "test"))
