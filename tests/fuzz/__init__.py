"""Fuzzing with a budget of time: each target is a property that must hold for whatever comes off a socket."""
