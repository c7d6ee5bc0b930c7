"""A reminder is put at the end of each turn, and is gone from there in the next."""

from typing import Any

from lint.examples import HANDBOOK, QUESTIONS, log, message
from lint.rule import Rule
from lint.sources.examples import turns
from lint.sources.flow import uses
from lint.traffic.checks import losses

_NOTE = "Remember: quote order numbers exactly, and never promise a date."
_BRIEF = "{'role': 'system', 'content': 'Brief.'}"
_ANSWER = "Thank you for asking. I have looked into it and will write as soon as the carrier has answered."


def _conversation(newest: Any) -> list[dict[str, Any]]:
    """Four turns. newest: makes the messages of the newest question."""
    bodies, history = [], [message("system", HANDBOOK)]
    for question in QUESTIONS:
        bodies.append({"model": "m", "messages": [*history, *newest(question)]})
        history += [message("user", question), message("assistant", _ANSWER)]
    return bodies


def _keeping(newest: Any) -> list[dict[str, Any]]:
    """The same, and what was sent stays where it was."""
    bodies, history = [], [message("system", HANDBOOK)]
    for question in QUESTIONS:
        history += newest(question)
        bodies.append({"model": "m", "messages": [*history]})
        history.append(message("assistant", _ANSWER))
    return bodies


RULE = Rule(
    code="PC503",
    name="moving-insert",
    severity="warning",
    summary="A reminder is put at the end of each turn, and is gone from there in the next.",
    why=(
        "What was sent with the note is in the cache with the note. The next turn sends the same question "
        "without it, so the question and the answer to it, which was generated behind the note, are computed "
        "again."
    ),
    instead=(
        "Leave each note where it was sent, or say it once in the system text. A note that changes belongs "
        "behind the newest question and stays in the history."
    ),
    since="0.1.0",
    checks=(
        uses("moving"),
        losses("moving_insert", severity="warning"),
    ),
    bad=(
        turns("messages", setup=f"messages = list(history)\nmessages.insert(-1, {_BRIEF})"),
        turns("messages", setup=f"messages = [SYSTEM, *history]\nmessages.insert(len(messages) - 1, {_BRIEF})"),
        turns("messages", setup=f"messages = history[:]\nnote = {_BRIEF}\nmessages.insert(-2, note)"),
        log(*_conversation(lambda question: [message("system", _NOTE), message("user", question)])),
        log(*_conversation(lambda question: [message("user", f"{_NOTE}\n\n{question}")])),
        log(*_conversation(lambda question: [message("user", f"{question}\n<reminder>{_NOTE}</reminder>")])),
        log(*_conversation(lambda question: [message("user", question), message("developer", _NOTE)])),
    ),
    good=(
        turns("messages", setup="messages = [SYSTEM, *history]\nmessages.append({'role': 'user', 'content': q})"),
        turns("messages", setup="messages = list(history)\nmessages.insert(0, SYSTEM)"),
        turns("history", setup="seen = []\nseen.insert(-1, {'role': 'user', 'content': q})"),
        log(*_keeping(lambda question: [message("system", _NOTE), message("user", question)])),
        log(*_keeping(lambda question: [message("user", f"{_NOTE}\n\n{question}")])),
        log(*_conversation(lambda question: [message("user", question)])),
        log(*({"model": "m", "messages": [message("user", f"{_NOTE}\n{question}")]} for question in QUESTIONS)),
    ),
)
