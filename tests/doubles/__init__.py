"""Servers that speak the real protocols of outside services over loopback HTTP, with state and faults."""
