"""Routing policies: pure, one file each."""
