"""The words of the demo's three applications: system prompts, their versions, tools. The trace has none.

Two habits that break prefix caches are put in on purpose, as people have them:

* version v2 of `support` opens with a clock that shows seconds, before all of its rules;
* `code` lists its tools in an order of each client process's own, as iterating over a Python set gives.
"""

import hashlib
from datetime import datetime
from typing import Any, Final

from prefix.trace import block_text

ROUTES: Final = {"support": 0.45, "code": 0.30, "search": 0.25}
"""Route -> its share of conversations."""

CUSTOMERS: Final = {
    "acme": 0.30,
    "globex": 0.22,
    "initech": 0.16,
    "umbrella": 0.13,
    "hooli": 0.11,
    "stark": 0.08,
}
"""Customer -> its share of conversations."""

PROMPT_VERSIONS: Final = {"v1": 0.70, "v2": 0.30}
"""Prompt version -> its share of each route's conversations: a new version on its way in."""

CLOCK: Final = ("support", "v2")
"""The (route, prompt version) whose system prompt opens with a clock."""

SHUFFLED_ROUTE: Final = "code"
CLIENT_PROCESSES: Final = 12

_OPENINGS: Final = {
    "support": "You are the support assistant of a web shop. Be brief, be kind, never promise a refund.",
    "code": "You are a coding agent. Read before you write, run the tests, explain every change.",
    "search": "You answer questions from the passages you are given, and say so when they do not hold the answer.",
}
_RULES: Final = 9
_RULE_BYTES: Final = 200

_TOOLS: Final = {
    "read_file": "Read a file of the workspace and return its text with line numbers.",
    "write_file": "Replace the contents of a file of the workspace, creating it when needed.",
    "list_folder": "List the files and folders below a folder of the workspace.",
    "search_code": "Find lines that match a regular expression, with their files and line numbers.",
    "run_tests": "Run the test suite, or the part of it below a folder, and return what failed.",
    "run_linter": "Run the linter below a folder and return its findings.",
    "show_diff": "Show the changes made in this session as a unified diff of a file or folder.",
    "ask_user": "Ask the user one question, about a file or folder, when the task is unclear.",
}


def system_text(route: str, version: str, now: datetime) -> str:
    """The system prompt of `route` in `version`, as sent at `now` (UTC)."""
    clock = f"Current time: {now:%Y-%m-%d %H:%M:%S} UTC.\n" if (route, version) == CLOCK else ""
    rules = [f"{n}. {block_text(f'{route} {version} rule {n}', _RULE_BYTES).strip()}." for n in range(1, _RULES + 1)]
    return "\n".join([f"{clock}{_OPENINGS[route]} (prompt {version})", "Rules:", *rules])


def tools(route: str, process: int) -> list[dict[str, Any]]:
    """The tools that client process number `process` sends on `route`, in that process's order."""
    if route != SHUFFLED_ROUTE:
        return []
    names = sorted(_TOOLS, key=lambda name: hashlib.sha256(f"{process} {name}".encode()).digest())
    return [_tool(name) for name in names]


def _tool(name: str) -> dict[str, Any]:
    path = {"type": "string", "description": "A path, relative to the workspace."}
    reason = {"type": "string", "description": "Why, in one sentence; shown to the user."}
    schema = {"type": "object", "properties": {"path": path, "reason": reason}, "required": ["path", "reason"]}
    return {
        "type": "function",
        "function": {"name": name, "description": _TOOLS[name], "parameters": schema},
    }
