"""Several processes behind one port that look like one gateway.

One idea: **one process knows, the others work.** The parent is a whole gateway that proxies nothing: it watches the
engines, follows the configuration, owns the admin surface, the metrics and the dashboard. Its children only proxy.

    client ──connection──▶ doorway (parent accepts) ──the connection itself──▶ the child with the fewest
    child ──records of finished requests──▶ parent: the aggregates it would have fed itself
    parent ──what the engines are, the configuration──▶ every child, which says when it applied it
    child ──a pipe with an operator's request──▶ parent: its application answers as if it had accepted it

So nothing is merged that was counted apart: a counter cannot go back because a process ended (docs/processes.md).
"""
