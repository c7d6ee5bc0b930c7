"""A picture that varies stands in front of text that is always the same."""

from typing import Any

from lint.examples import HANDBOOK, QUESTIONS, log, message
from lint.rule import Rule
from lint.sources.examples import app
from lint.sources.flow import uses
from lint.traffic.checks import losses

_IMAGE = "{'type': 'image_url', 'image_url': {'url': user}}"
_STATIC = "{'type': 'text', 'text': POLICY}"
_KNOWN = "{'type': 'image_url', 'image_url': {'url': 'https://img.example/map.png'}}"


def _picture(at: int) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"https://img.example/{('cat', 'dog', 'owl', 'fox')[at]}.png"}}


def _file(at: int) -> dict[str, Any]:
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * (at + 9)},
    }


def _asked(*parts: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [message("user", list(parts))]}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


RULE = Rule(
    code="PC703",
    name="image-before-static",
    severity="warning",
    summary="A picture that varies stands in front of text that is always the same.",
    why=(
        "Images are part of the prefix, with hundreds of tokens or more. Instructions behind a picture that changes "
        "are computed again for each picture."
    ),
    instead="Send the instructions first, as system text, and the picture behind them.",
    since="0.1.0",
    checks=(
        uses("image"),
        losses("media", severity="warning"),
    ),
    bad=(
        app("'Be brief.'", user=f"[{_IMAGE}, {_STATIC}]"),
        app("'Be brief.'", user="parts", setup=f"parts = [{_IMAGE}]\nparts.append({_STATIC})"),
        app("'Be brief.'", user=f"[{{'type': 'image', 'source': {{'data': user}}}}] + [{_STATIC}]"),
        log(*(_asked(_picture(at), _text(HANDBOOK)) for at in range(4))),
        log(*(_asked(_picture(at), _text(f"{HANDBOOK}\n{QUESTIONS[at]}")) for at in range(4))),
        log(*(_asked(_file(at), _text(HANDBOOK)) for at in range(4))),
    ),
    good=(
        app("POLICY", user=f"[{_IMAGE}]"),
        app("'Be brief.'", user=f"[{_STATIC}, {_IMAGE}]"),
        app("'Be brief.'", user=f"[{_KNOWN}, {_STATIC}]"),
        log(*(_asked(_text(HANDBOOK), _picture(at)) for at in range(4))),
        log(*(_asked(_picture(0), _text(HANDBOOK), _text(question)) for question in QUESTIONS)),
        log(*(_asked(_picture(at), _text(QUESTIONS[at])) for at in range(4))),
    ),
)
