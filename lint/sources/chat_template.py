"""Chat templates: `chat_template.jinja`, the `chat_template` of a tokenizer_config.json, and what looks like one.

A chat template is judged by what it writes, not by its text: rendered on growing conversations
(lint.sources.conversations) in a child process (lint.sources.rendering), is each prompt the beginning of the next
(lint.sources.monotone)?
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePath
from typing import BinaryIO, Final

from jinja2 import TemplateSyntaxError, nodes

from lint.documents import NotInspected, Unreadable
from lint.rule import Document, Location
from lint.source import Source
from lint.sources.chat import ChatTemplate, Clock
from lint.sources.conversations import CONVERSATIONS, FORMS, Conversation, Form
from lint.sources.monotone import (
    Key,
    Loss,
    can_read,
    case,
    clock_of,
    first_render,
    forgotten,
    losses,
    readable,
    renders,
)
from lint.sources.render_child import environment
from lint.sources.rendering import NotRendered, Rendered, Renderer, TooManyKilled, renderer

MAX_BYTES: Final = 8_000_000
"""tokenizer_config.json lists every added token."""
_MARKS: Final = frozenset({"add_generation_prompt", "bos_token", "eos_token", "raise_exception"})
_CLOCK: Final = "strftime_now"


def is_chat_template(filename: str, tree: nodes.Template) -> bool:
    """Whether a template makes prompts of messages: by its name, or by the variables that only engines give."""
    if "chat_template" in PurePath(filename).name.lower():
        return True
    used = {name.name for name in tree.find_all(nodes.Name) if name.ctx == "load"}
    return "messages" in used and ("add_generation_prompt" in used or len(used & _MARKS) > 1)


def read(filename: str, file: BinaryIO) -> Iterator[Document]:
    """The chat templates of a tokenizer's configuration."""
    raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        yield NotInspected(filename, f"a tokenizer's configuration of more than {MAX_BYTES // 1_000_000} MB")
        return
    try:
        text = raw.decode("utf-8-sig")
        held = json.loads(text)
    except (ValueError, RecursionError) as error:
        yield Unreadable(filename, f"no JSON: {error}", Location(getattr(error, "lineno", 1), 1))
        return
    row = text.count("\n", 0, max(0, text.find('"chat_template"'))) + 1
    found = False
    for name, template in _templates(held.get("chat_template") if isinstance(held, dict) else None):
        found = True
        yield judged(filename, text, template, name=name, inside=row)
    if not found:
        yield NotInspected(filename, "there is no chat_template in it")


def _templates(held: object) -> Iterator[tuple[str, str]]:
    """Templates by name, of a string, a mapping, or a list of `{name, template}`."""
    if isinstance(held, str):
        yield "", held
    elif isinstance(held, dict):
        yield from ((str(name), inner) for name, inner in held.items() if isinstance(inner, str))
    elif isinstance(held, list):
        for item in held:
            if isinstance(item, dict) and isinstance(item.get("template"), str):
                yield str(item.get("name", "")), item["template"]


def judged(filename: str, text: str, template: str, *, name: str = "", inside: int = 0) -> Document:
    """What rendering one template shows, or why it could not be rendered. inside: the row it has in its file."""
    try:
        tree = environment().parse(template)
        rendered = _render_all(template, renderer())
    except TemplateSyntaxError as error:
        return Unreadable(filename, f"no chat template: {error.message}", Location(inside or error.lineno, 1))
    except RecursionError:
        return NotInspected(filename, "nested too deeply to follow")
    except NotRendered:
        return Unreadable(
            filename, "a chat template that does not end, or takes all memory", Location(inside or 1, 1)
        )
    except TooManyKilled:
        return NotInspected(filename, "too many chat templates before this one did not end")
    understood = [(talk, texts) for talk, texts in zip(_TALKS, rendered, strict=True) if readable(talk, texts)]
    if not understood:
        reason = next((one.error for texts in rendered for one in texts.values() if one.error), "")
        reason = reason or "it does not write the user's message"
        return Unreadable(filename, f"a chat template that cannot be rendered: {reason}", Location(inside or 1, 1))
    return ChatTemplate(
        filename, text, name, tuple(_greatest(understood)), _clock(template, tree, understood), _row(tree), inside
    )


_Texts = dict[Key, Rendered]
_TALKS: Final = (*CONVERSATIONS, *(talk.unreasoned() for talk in CONVERSATIONS if talk.reasons))


def _render_all(template: str, child: Renderer) -> list[_Texts]:
    """The renders of each of _TALKS, in the first form that the template can read. Of one that it cannot read in any
    there is only the first, which shows why."""
    out: list[_Texts] = [{} for _ in _TALKS]
    waiting = list(range(len(_TALKS)))
    for form in FORMS:
        _render(template, child, form, [(at, first_render(_TALKS[at])) for at in waiting], out)
        read = [at for at in waiting if can_read(_TALKS[at], out[at])]
        _render(template, child, form, [(at, key) for at in read for key in renders(_TALKS[at])], out)
        waiting = [at for at in waiting if at not in read]
    return out


def _render(template: str, child: Renderer, form: Form, wanted: list[tuple[int, Key]], out: list[_Texts]) -> None:
    """Fill in what is wanted, given as the place of a conversation and a render of it."""
    if wanted:
        cases = [case(_TALKS[at], key, form) for at, key in wanted]
        for (at, key), one in zip(wanted, child.render(template, cases), strict=True):
            out[at][key] = one


def _greatest(understood: list[tuple[Conversation, _Texts]]) -> Iterator[Loss]:
    """The loss of each cause that leaves the smallest share of a prompt."""
    plain = {talk.name: texts for talk, texts in understood if not talk.reasons}
    found: list[Loss] = []
    for talk, texts in understood:
        found += losses(talk, texts, plain.get(talk.name, {}))
        if talk.reasons:
            found += filter(None, [forgotten(talk, texts)])
    for cause in ("history", "generation", "reasoning"):
        of_cause = [loss for loss in found if loss.cause == cause]
        if of_cause:
            yield min(of_cause, key=lambda loss: loss.kept / loss.total)


def _clock(template: str, tree: nodes.Template, understood: list[tuple[Conversation, _Texts]]) -> Clock | None:
    kinds = {clock_of(talk, texts) for talk, texts in understood}
    call = next((c for c in tree.find_all(nodes.Call) if getattr(c.node, "name", "") == _CLOCK), None)
    if call is None:
        return None
    pinned = any(name.name == "date_string" for name in tree.find_all(nodes.Name))
    column = template.split("\n")[call.lineno - 1].find(_CLOCK) + 1
    return Clock("clock" if "clock" in kinds else "date" if "date" in kinds else "", pinned, call.lineno, column or 1)


def _row(tree: nodes.Template) -> int:
    """Where the template looks ahead or back, as far as that can be seen; else its loop over the messages."""
    for branch in tree.find_all(nodes.If):
        if any(_looks_ahead(node) for node in branch.test.find_all((nodes.Getattr, nodes.Compare, nodes.Getitem))):
            return branch.lineno
    return next((loop.lineno for loop in tree.find_all(nodes.For)), 1)


def _looks_ahead(node: nodes.Node) -> bool:
    """`loop.last`, `messages[-1]`, or a comparison of the place in the loop with a place that was found before."""
    if isinstance(node, nodes.Getattr):
        return node.attr in ("last", "nextitem", "revindex", "revindex0")
    if isinstance(node, nodes.Getitem):
        return isinstance(node.arg, nodes.Neg)
    place = [inner for inner in node.find_all(nodes.Getattr) if inner.attr in ("index", "index0")]
    return bool(place) and any(
        not isinstance(inner, nodes.Const) for inner in (operand.expr for operand in node.find_all(nodes.Operand))
    )


SOURCE = Source("chat_template", ("tokenizer_config.json", "chat_template.json"), read)
