"""The URL of an image or a file is signed anew for each request."""

from typing import Any

from lint.bodies import volatile
from lint.examples import HANDBOOK, asked, chat, log, message, one
from lint.rule import Rule
from lint.sources.examples import app, turns
from lint.sources.flow import uses
from lint.traffic.checks import losses


def _picture(query: str) -> dict[str, Any]:
    url = {"type": "image_url", "image_url": {"url": f"https://img.example/cat.png?{query}"}}
    said = [
        message("user", [url, {"type": "text", "text": HANDBOOK}]),
        message("assistant", "A cat."),
        message("user", "?"),
    ]
    return {"model": "m", "messages": said}


RULE = Rule(
    code="PC701",
    name="signed-url",
    severity="warning",
    summary="The URL of an image or a file is signed anew for each request.",
    why=(
        "The picture is the same, but its URL is not: an engine that hashes URLs computes it again, and "
        "in text the cache ends at the signature."
    ),
    instead=("Sign once per conversation and send that URL again, or send the bytes."),
    since="0.1.0",
    fix="unsafe",
    gateway="level: hoist\nhoist: {mode: rewrite, kinds: [signed_url]}",
    checks=(
        uses("signed"),
        losses("signed_url", severity="warning"),
        volatile("signed_url", everywhere=True),
    ),
    bad=(
        turns(
            "[{'role': 'user', 'content': [{'image_url': {'url': url}}, {'type': 'text', 'text': q}]}]",
            setup="url = s3.generate_presigned_url('get_object')",
        ),
        turns("[SYSTEM, {'role': 'user', 'content': blob.generate_signed_url(60)}]"),
        app("'Logo: ' + s3.generate_presigned_url('get_object') + POLICY"),
        log(*(_picture(f"X-Sig=aaa{sig}&X-Date=20260303T0914{sig}Z") for sig in range(10, 14))),
        one(_picture("X-Sig=aaa111&X-Date=20260303T091407Z")),
        asked(*(f"Rules: https://s3.example/rules.pdf?X-Amz-Signature=4af{at:029x}\n{HANDBOOK}" for at in range(4))),
        log(*(_picture(f"X-Goog-Date=20260303T0914{sig}Z&X-Goog-Signature={sig:032x}") for sig in range(10, 14))),
        one(_picture("X-Amz-Date=20260303T091407Z&X-Amz-Signature=4af0c1d2e3f4a5b6c7d8e9f00112233445566778899aabb")),
        one(chat(f"See https://s3.example/rules.pdf?X-Amz-Signature=4af0c1d2e3f4a5b6c7d8e9f001122334\n{HANDBOOK}")),
    ),
    good=(
        turns(
            "[{'role': 'user', 'content': [{'type': 'image_url', 'image_url': {'url': 'https://shop.example/logo.png'}}]}]"
        ),
        turns("[SYSTEM, *history]", setup="url = s3.generate_presigned_url('get_object')"),
        app("POLICY", setup="print(s3.generate_presigned_url('get_object'))"),
        log(*[_picture("X-Sig=aaa111&X-Date=20260303T091407Z")] * 3),
        one(_picture("size=large")),
        asked(*[f"Rules: https://s3.example/rules.pdf\n{HANDBOOK}"] * 4),
        log(*(chat(HANDBOOK, f"See https://img.example/{name}.png") for name in ("cat", "dog", "owl"))),
        one(_picture("v=3&size=large")),
        one(chat(f"Rules: https://s3.example/rules.pdf\n{HANDBOOK}")),
    ),
)
