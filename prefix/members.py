"""Setting top-level members of a body by offset: what an engine needs on top of what the client sent."""

from collections.abc import Mapping

from prefix.body import Body
from prefix.scan import Span


def member_edits(body: Body, members: Mapping[str, bytes]) -> dict[Span, bytes]:
    """What to splice into a body so that it has these members (name -> raw JSON): in place, or else at its front."""
    edits = {body.spans[name]: value for name, value in members.items() if name in body}
    new = [b'"%s":%s' % (name.encode(), value) for name, value in members.items() if name not in body]
    if new:
        front = body.raw.index(b"{") + 1
        edits[Span(front, front)] = b",".join(new) + b"," * bool(body.spans)
    return edits
