"""A picture that varies stands in front of text that is always the same."""

from typing import Any

from lint.examples import HANDBOOK, QUESTIONS, log, message
from lint.rule import Rule
from lint.traffic.checks import losses


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
    checks=(losses("media", severity="warning"),),
    bad=(
        log(*(_asked(_picture(at), _text(HANDBOOK)) for at in range(4))),
        log(*(_asked(_picture(at), _text(f"{HANDBOOK}\n{QUESTIONS[at]}")) for at in range(4))),
        log(*(_asked(_file(at), _text(HANDBOOK)) for at in range(4))),
    ),
    good=(
        log(*(_asked(_text(HANDBOOK), _picture(at)) for at in range(4))),
        log(*(_asked(_picture(0), _text(HANDBOOK), _text(question)) for question in QUESTIONS)),
        log(*(_asked(_picture(at), _text(QUESTIONS[at])) for at in range(4))),
    ),
)
