"""Edits that mend findings: candidates for each kind of source, each tried before it is offered (see mending)."""
