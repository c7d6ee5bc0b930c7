"""What each cause of a divergence is called, and what to do about it: one row each.

The text is for whoever wrote the prompt, in a terminal, a finding or a dashboard.
"""

from typing import Literal, NamedTuple

from prefix import conversations, parameters, texts

Kind = (
    parameters.Kind
    | texts.Kind
    | conversations.Kind
    | Literal["tool_order", "tool_set", "tool_text", "token_ids", "media"]
    | Literal["appended", "reasoning_dropped", "call_id", "content_form"]
)


class Explanation(NamedTuple):
    """title: what it is, a noun phrase. advice: what to do, one sentence or two."""

    title: str
    advice: str


_CONSTANT_TOOLS = (
    "Send the same tools with every request of a route, and say in the newest message which of them to use."
)
_NOTHING = "Nothing to do: everything before it is shared."

EXPLANATIONS: dict[Kind, Explanation] = {
    "model": Explanation("another model", "Models never share a cache: send prompts that should share to one model."),
    "namespace": Explanation(
        "another adapter or cache salt",
        "Adapters and salts keep caches apart on purpose: use one for prompts that may share.",
    ),
    "tool_choice": Explanation(
        "another tool_choice",
        "A named tool, or none, takes tools out of the front of the prompt: leave it at auto, and say in the newest "
        "message which tool to use.",
    ),
    "template_arguments": Explanation(
        "other template arguments", "They change what the chat template prints: keep them for a whole conversation."
    ),
    "tool_order": Explanation(
        "the same tools in another order", "Sort them by name. The gateway's level safe, its default, sorts them."
    ),
    "tool_set": Explanation("another set of tools", _CONSTANT_TOOLS),
    "tool_text": Explanation(
        "another description or schema of a tool", "Keep tools constant: what varies belongs into the newest message."
    ),
    "key_order": Explanation(
        "the same members in another order",
        "Write keys in one order, and arguments of earlier tool calls as the model wrote them. In tool schemas the "
        "gateway's level safe, its default, sorts them.",
    ),
    "json_format": Explanation(
        "the same JSON, spelled otherwise", "Write JSON with one set of separators and escapes."
    ),
    "whitespace": Explanation(
        "white space",
        "Write one kind of line end and no trailing blanks. In system text the gateway's level normalize does.",
    ),
    "unicode_form": Explanation(
        "another Unicode form of the same text",
        "Write NFC, without invisible characters. In system text level normalize composes it.",
    ),
    "clock": Explanation(
        "a clock",
        "Move it into the newest message, behind all that could be shared, or print the date alone. The gateway's "
        "level hoist can move it.",
    ),
    "date": Explanation(
        "a date",
        "It costs a cold prefix a day. To save that too, move it into the newest message.",
    ),
    "request_id": Explanation("an id of this request", "Leave it out, or put it into the newest message."),
    "attribution": Explanation(
        "an accounting line of the client",
        "Switch it off in the client, or let level normalize strip the known ones.",
    ),
    "environment": Explanation(
        "the state of a working directory", "Send it once, as a message, or at the end of the newest one."
    ),
    "hostname": Explanation(
        "a host name", "Leave it out: every replica of the client has a prefix of its own with it."
    ),
    "signed_url": Explanation(
        "the signature of a URL", "Sign once per conversation and reuse the URL, or send the bytes."
    ),
    "counter": Explanation("a counter", "Move it into the newest message, or leave it out."),
    "text_order": Explanation("the same lines in another order", "Sort them, or draw them with a fixed seed."),
    "text": Explanation("other words", "Put what is the same in all prompts first, and what varies behind it."),
    "appended": Explanation("one goes on where the other ends", "Nothing to do: all of the shorter one is shared."),
    "window_slid": Explanation(
        "a history that lost its oldest messages",
        "Cut seldom and many messages at a time: each cut costs the whole history once.",
    ),
    "few_shot_order": Explanation(
        "the same messages in another order", "Sort examples, or draw them with a fixed seed."
    ),
    "history_edited": Explanation(
        "an earlier message was changed", "Send the history as it was said: append, and edit nothing."
    ),
    "reasoning_dropped": Explanation(
        "reasoning that only one of them has", "Send it with every earlier answer, or with none."
    ),
    "call_id": Explanation("another id of a tool call", "Keep the ids of earlier calls as they were given."),
    "content_form": Explanation(
        "the same text, once as a string and once as a list of parts",
        "Most templates print both alike; where they do not, send one of the two.",
    ),
    "media": Explanation("another image or file", "Put text that is the same in all prompts before it."),
    "system_text": Explanation(
        "the system text", "Put what is the same in all prompts first, and what varies into the newest message."
    ),
    "new_message": Explanation("the newest message", _NOTHING),
    "other_conversation": Explanation("another conversation from here on", _NOTHING),
    "token_ids": Explanation(
        "other token ids", "Put what is the same in all prompts first, and what varies behind it."
    ),
}
