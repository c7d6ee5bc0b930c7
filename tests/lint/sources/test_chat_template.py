"""lint.sources.chat_template: what rendering a chat template shows, and what a hostile one cannot do."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from lint.documents import NotInspected, Unreadable
from lint.linter import lint_text
from lint.rule import Document, Finding
from lint.sources import chat_template, rendering
from lint.sources.chat import ChatTemplate
from lint.sources.render_child import render
from lint.sources.rendering import NotRendered, Renderer, TooManyKilled
from tests.cases import case

DATA = Path(__file__).parents[2] / "data"
TEMPLATES = {
    path.stem: path.read_text(encoding="utf-8")
    for folder in (DATA / "templates", DATA / "lint" / "templates")
    for path in folder.glob("*.jinja")
}
TURN = "<{{ message.role }}>{{ message.content }}<end>"
LOOP = "{% for message in messages %}" + TURN + "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
EXPECTED = {
    "gpt_oss": [("PC902", "info", 13)],
    "llama3": [],
    "mistral": [("PC901", "error", 9)],
    "qwen2_5": [],
    "qwen3": [("PC901", "warning", 20), ("PC903", "info", 20)],
    "kimi": [],
    "llama3_1": [("PC902", "info", 2)],
    "deepseek_r1": [("PC903", "info", 4)],
}


def found(template: str, filename: str = "chat_template.jinja") -> list[Finding]:
    return lint_text(filename, template)


def summary(findings: list[Finding]) -> list[tuple[str, str, int]]:
    return [(f.code, f.severity, f.location.row if f.location else 0) for f in findings]


@pytest.fixture
def child() -> Renderer:
    return Renderer()


@pytest.mark.parametrize("name", EXPECTED)
def test_known_templates(name: str) -> None:
    """Templates that behave as those of known models: what each loses, why, and in which line."""
    assert summary(found(TEMPLATES[name])) == EXPECTED[name]


def test_every_template_is_expected() -> None:
    """No template lies about untested."""
    assert set(TEMPLATES) == set(EXPECTED)


def test_case_23() -> None:
    """The empty think block of the generation prompt is not in the history: as many characters as the case says."""
    lost = case(23)["expected"]["lost_chars_of_turn1"]
    (finding,) = [f for f in found(TEMPLATES["qwen3"]) if f.code == "PC901"]
    assert f"the last {lost} characters" in finding.message
    assert "enable_thinking false" in finding.message


def test_case_29() -> None:
    """A date that the template prints is information, and says whether a request can pin it."""
    wanted = case(29)["expected"]["finding"]["severity"]
    pinned = LOOP + "{{ date_string or strftime_now('%d %b %Y') }}"
    for template, said in ((LOOP + "{{ strftime_now('%d %b %Y') }}", False), (pinned, True)):
        (finding,) = [f for f in found(template) if f.code == "PC902"]
        assert finding.severity == wanted
        assert ("date_string" in finding.message) is said


def test_how_much_is_lost_and_where() -> None:
    """The finding counts characters and names the message, and shows both texts."""
    (finding,) = found(TEMPLATES["mistral"])
    assert "begins with 4 of the 713 characters of request 3" in finding.message
    assert "'AVAILABLE_TOOLS]" in finding.message


@pytest.mark.parametrize(
    "turn",
    [
        "<{{ message.role }}>{% for part in message.content %}{{ part.text }}{% endfor %}<end>",
        "{% if message.role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + TURN,
        "{% generation %}" + TURN + "{% endgeneration %}",
        TURN + "{% for call in message.tool_calls or [] %}{{ '' + call.function.arguments }}{% endfor %}",
        "{% if message.role == 'tool' %}{% continue %}{% endif %}" + TURN,
    ],
)
def test_other_ways_to_read_messages(turn: str) -> None:
    """Content as parts, arguments as text, no system role, loop controls, generation marks: rendered, and clean."""
    assert found(LOOP.replace(TURN, turn)) == []


def test_tokenizer_config() -> None:
    """A template in a tokenizer's configuration, alone or as one of several, has its row and its name there."""
    drops = LOOP.replace(TURN, TURN + "{% if loop.last %}!{% endif %}")
    alone = json.dumps({"bos_token": "<s>", "chat_template": drops}, indent=1)
    (finding,) = lint_text("model/tokenizer_config.json", alone)
    assert (finding.code, finding.location and finding.location.row) == ("PC901", 3)
    assert "(line 1 of the template)" in finding.message
    several = json.dumps({"chat_template": [{"name": "default", "template": LOOP}, {"name": "t", "template": drops}]})
    (finding,) = lint_text("tokenizer_config.json", several)
    assert "template 't'" in finding.message
    (absent,) = lint_text("tokenizer_config.json", "{}")[:1]
    assert absent.code == "PC003"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}\nSummarize this.", False),
        ("{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}A{% endif %}", True),
        ("{{ bos_token }}{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}", True),
    ],
)
def test_which_templates_are_chat_templates(text: str, expected: bool) -> None:
    """By the variables that only engines give: a prompt about a conversation is not one."""
    tree = chat_template.environment().parse(text)
    assert chat_template.is_chat_template("prompt.jinja", tree) is expected


FOR_EVER = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
HOSTILE = {
    "raises": "{{ raise_exception('no') }}",
    "divides": "{{ 1 // 0 }}",
    "unknown": "{{ now() }}",
    "writes for ever": "{% for a in range(99999) %}{{ 'x' * 99999 }}{% endfor %}",
    "memory": "{{ 'x' * 9999999999 }}",
    "recursion": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "underscores": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "import": "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "include": "{% include '/etc/passwd' %}",
    "mutation": "{% set _ = messages.append(1) %}",
    "nothing": "no message at all",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_templates_are_reported(name: str) -> None:
    """A template that raises, asks for what it may not have or writes without end is unreadable input."""
    (finding,) = [f for f in found(HOSTILE[name]) if f.code == "PC001"]
    assert "cannot be rendered" in finding.message


def test_nothing_is_computed_here() -> None:
    """Constants of a template are not folded in this process: a huge one costs nothing to look at."""
    assert found("{{ messages }}{{ bos_token }}{{ 'x' * 99999999999 * 99999999 }}", "prompt.jinja") == []


def test_a_template_that_does_not_end(child: Renderer, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is killed and reported, the next template gets a new process, and after some no further one is tried."""
    monkeypatch.setattr(rendering, "MAX_KILLED", 2)
    monkeypatch.setattr(chat_template, "renderer", lambda: child)

    def judged(template: str) -> Document:
        return chat_template.judged("chat_template.jinja", template, template)

    child._seconds = 0.3
    assert isinstance(judged(FOR_EVER), Unreadable)
    child._seconds = rendering.SECONDS
    assert isinstance(judged(LOOP), ChatTemplate)
    child._seconds = 0.3
    assert isinstance(judged(FOR_EVER), Unreadable)
    assert isinstance(judged(LOOP), NotInspected)
    with pytest.raises(TooManyKilled):
        child.render(LOOP, [])
    assert child._child is None


def test_a_child_that_ends(child: Renderer) -> None:
    """A child that is gone is an answer that never came."""
    child.render(LOOP, [])
    assert child._child is not None
    child._child.kill()
    with pytest.raises(NotRendered):
        child.render(LOOP, [])
    child.close()


def test_the_child_has_limits() -> None:
    """In the child memory, files and processor time are limited: what asks for more gets an error there."""
    code = (
        "import resource, sys; sys.path.insert(0, sys.argv[1]); import render_child; render_child._limit_memory();"
        "render_child._limit_time(); print([resource.getrlimit(k)[0] for k in (resource.RLIMIT_AS,"
        "resource.RLIMIT_FSIZE, resource.RLIMIT_CPU)], render_child.render('{{ \"x\" * n }}',"
        "[{'clock': '2026-03-05T10:20:30', 'n': 10**9}]))"
    )
    folder = str(Path(rendering.__file__).parent)
    out = subprocess.run(
        [sys.executable, "-P", "-c", code, folder], capture_output=True, text=True, check=True
    ).stdout
    assert out.startswith("[536870912, 0, ")
    assert "512 MiB" in out


def test_rendering_is_that_of_transformers() -> None:
    """JSON keeps Unicode and key order, indents, and blocks leave no line of their own."""
    job = {"clock": "2026-03-05T10:20:30", "value": {"b": "é", "a": 1}}
    template = "  {% if true %}\n{{ value | tojson }}{{ value | tojson(indent=1) }}\n  {% endif %}\n"
    template += "X{{ strftime_now('%d') }}"
    assert render(template, [job]) == [{"text": '{"b": "é", "a": 1}{\n "b": "é",\n "a": 1\n}\nX05'}]


def test_no_json_is_reported() -> None:
    """A configuration that does not parse, or is too large, is said."""
    (bad,) = chat_template.read("tokenizer_config.json", io.BytesIO(b'{"chat_template": '))
    assert isinstance(bad, Unreadable)
    (large,) = chat_template.read("tokenizer_config.json", io.BytesIO(b" " * (chat_template.MAX_BYTES + 1)))
    assert isinstance(large, NotInspected)
