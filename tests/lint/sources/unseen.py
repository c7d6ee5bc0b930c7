"""How the tests of what unseen code taught look at a text."""

import io

from lint.linter import lint_text
from lint.sources.python import PythonModule, read

HEAD = """
import os, subprocess, time
from elsewhere import ROOT, RunResponse, llm
POLICY = "Follow the policy. " * 400
"""


RULES = "Answer by these rules. " + "Be brief and name your source. " * 12


def flows(text: str) -> list[tuple[str, str]]:
    (module,) = read("app.py", io.BytesIO((HEAD + text).encode()))
    assert isinstance(module, PythonModule), module
    return [(flow.kind, flow.where) for flow in module.flows]


def severities(filename: str, text: str) -> list[tuple[str, str]]:
    return [(finding.code, finding.severity) for finding in lint_text(filename, text)]
