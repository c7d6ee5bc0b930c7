"""Outcomes as a run makes them."""

from array import array

import msgspec

from gateway.apis import CHAT
from gateway.bench.outcome import Outcome

ONE = Outcome(
    number=0,
    side=0,
    pair=0,
    path=CHAT,
    route="default",
    measured=True,
    planned_s=0.0,
    due_s=0.0,
    sent_s=0.0,
    ended_s=1.0,
    content_s=array("d", [0.5, 0.75, 1.0]),
    prompt_tokens=None,
    input_tokens=100,
    cached_tokens=40,
    output_tokens=3,
)


def outcome(**changes: object) -> Outcome:
    """A request that took one second, with this changed."""
    if isinstance(times := changes.get("content_s"), list):
        changes["content_s"] = array("d", times)
    return msgspec.structs.replace(ONE, **changes)
