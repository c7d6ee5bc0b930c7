"""How much of the output that running requests may still produce the scheduler reserves memory for.

One idea: most answers end before their limit, so only a part is reserved; it shrinks with every decode step that went
well and jumps when one did not (a retraction). Read in SGLang 0.5.23 (managers/schedule_batch.py, new_token_ratio).
"""

FIRST, LEAST, STEPS = 0.7, 0.7 * 0.14, 600
BY_STEP = (FIRST - LEAST) / STEPS
RETRACT_STEPS = 20


class OutputRatio:
    """value: 0 to 1."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = FIRST

    def reset(self) -> None:
        """Nothing runs any more."""
        self.value = FIRST

    def cool(self, steps: int) -> None:
        """So many decode steps had memory."""
        self.value = max(LEAST, self.value - steps * BY_STEP)

    def heat(self, requests: int, produced: int, allowed: int) -> None:
        """A retraction left so many requests, with output tokens so far and allowed."""
        self.value = min(1.0, (produced + RETRACT_STEPS * requests) / (allowed + 1))
