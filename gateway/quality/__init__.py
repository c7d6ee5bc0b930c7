"""`prefixgate eval`: did the quality of the answers survive a change? Two targets, the same tasks, a verdict."""
