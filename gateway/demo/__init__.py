"""`prefixgate demo`: the main job with nothing else installed.

`command` is the story, `workload` turns a trace into requests (`script` holds their words), `fleet` runs engines
and gateway in processes of their own, `load` is the open-loop client, `tally` adds up what was measured where, and
`report` says it. The passes differ in the gateway's policy and level, in nothing else.
"""
