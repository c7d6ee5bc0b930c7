"""`prefixgate bench`: load over real HTTP, and what became of it.

The pure core: `arrivals` (when), `plan` (which request when, in whose turn), `requests` (a trace as bodies),
`summary` and `compare` (what was measured, and whether two targets differ). IO is at the edge: `source` (files),
`target` (is it there), `client` and `loops` (sending), `gauges` (the engines meanwhile). `table` and `page` show it;
`command` is the story.
"""
