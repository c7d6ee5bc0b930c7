"""Which resource bounds a workload, shown by what doubling it would gain, and what to do about it.

`page` reads what engines export, `evidence` takes the difference of two moments, `twin` replays the like of that
workload against the engine model in virtual time, `verdict` doubles one resource after the other, `levers` says what
to do. All of that is pure; `watch` and `command` are the edge.
"""
