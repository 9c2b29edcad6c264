"""Measure tomannot's speed on this machine: ``make bench``. docs/benchmarks.md describes the measurements."""
