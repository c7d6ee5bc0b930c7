"""Small Python modules and templates for the examples of rules, which are their documentation and their tests."""

from typing import Final

from lint.rule import Example

RULES_TEXT: Final = "Refunds are allowed within thirty days of delivery for items that still carry their tags.\n" * 4
"""Static text, long enough that losing it counts."""


def app(
    system: str, *, imports: str = "", setup: str = "", more: str = "", user: str = "q", model: str = "'m'"
) -> Example:
    """A module with one call. system, user, model: expressions; setup: lines before the call; more: arguments."""
    lines = "".join(f"    {line}\n" for line in setup.splitlines())
    return Example(
        "app.py",
        f"{imports}\nPOLICY = 'Follow the policy. ' * 400\n\n\n"
        f"def ask(client, q, user=None, docs=(), history=()):\n{lines}"
        f"    return client.chat.completions.create(\n        model={model}, {more}\n        messages=[\n"
        f"            {{'role': 'system', 'content': {system}}},\n"
        f"            {{'role': 'user', 'content': {user}}},\n"
        "        ],\n    )\n",
    )


def turns(messages: str, setup: str = "", imports: str = "") -> Example:
    """A module that sends a conversation. messages: its expression; setup: lines before the call."""
    lines = "".join(f"    {line}\n" for line in setup.splitlines())
    return Example(
        "chat.py",
        f"{imports}\nSYSTEM = {{'role': 'system', 'content': 'Follow the policy. ' * 400}}\n\n\n"
        f"def ask(client, history, q):\n{lines}"
        f"    return client.chat.completions.create(model='m', messages={messages})\n",
    )


def template(head: str, tail: str = "", name: str = "prompt.j2") -> Example:
    """A Jinja template with static text between head and tail."""
    return Example(name, f"{head}\n{RULES_TEXT}{tail}\n")


def prompt_file(head: str, question: str = "{question}") -> Example:
    """A YAML prompt with static text behind its first line."""
    text = "".join(f"      {line}\n" for line in (head, *RULES_TEXT.splitlines()))
    return Example(
        "prompt.yaml",
        f"messages:\n  - role: system\n    content: |\n{text}  - role: user\n    content: '{question}'\n",
    )


def chat_template(turn: str, *, head: str = "", end: str = "") -> Example:
    """A chat template. turn: what it writes for a `message`; head: before all; end: of the generation prompt."""
    return Example(
        "chat_template.jinja",
        f"{head}{{% for message in messages %}}\n{turn}{{% endfor %}}"
        f"{{% if add_generation_prompt %}}<assistant>{end}{{% endif %}}\n",
    )


def anthropic(system: str, *, tools: str = "[]", messages: str = "[{'role': 'user', 'content': q}]") -> Example:
    """A call of Anthropic's API. system, tools, messages: expressions, in which MARK is a marker."""
    return Example(
        "claude.py",
        f"POLICY = 'Follow the policy. ' * 400\nMARK = {{'type': 'ephemeral'}}\n\n\n"
        f"def ask(client, q, user=None):\n    return client.messages.create(\n        model='m', system={system}, "
        f"tools={tools},\n        messages={messages},\n    )\n",
    )


def blocks(text: str, marks: int = 1) -> str:
    """The expression of as many blocks of text as markers, for `anthropic`."""
    one = f"{{'type': 'text', 'text': {text}, 'cache_control': MARK}}"
    return "[" + ", ".join([one] * marks) + "]"
