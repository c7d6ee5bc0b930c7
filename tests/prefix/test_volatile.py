"""prefix.volatile: what moves is found where it stands, and constant facts are not taken for it."""

import string
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefix.volatile import KINDS, Kind, VolatileSpan, find_volatile, mask
from tests.cases import case

CERTAIN = {
    "clock_second": """
        Now: «2026-03-03T09:14:07Z»
        Current time: «2026-03-03T09:14:07.123456+01:00»
        «2026-03-03 09:14:07,123» INFO started
        The time is «2026-03-03 09:14:07 UTC»
        Date: «Tue, 03 Mar 2026 09:14:07 +0000»
        Date: «Tue, 03 Mar 2026 09:14:07 GMT»
        Today is «Tue Mar  3 09:14:07 2026».
        It is now «Tue Mar  3 09:14:07 UTC 2026»
        It is «Tuesday, March 3, 2026 at 9:14:07 PM PST».
        Heute ist «Dienstag, 3. März 2026, 09:14:07 Uhr».
        Stand «03.03.2026 09:14:07»
        Nous sommes le «mardi 3 mars 2026 à 09:14:07».
        Hoy es «martes, 3 de marzo de 2026, 09:14:07».
        现在 «2026年3月3日 09:14:07»
        Generated «03/03/2026, 9:14:07 PM»
        server clock «09:14:07» and counting
        log run-«20260303T091407Z».txt
        log run_«20260303-091407».txt
        at «20260303091407123»
        - - [«03/Mar/2026:09:14:07 +0000»] GET
        Session started «2026-03-03T09:14:07 (Europe/Berlin)»
        «09:14:07 on 3 March 2026»
        Current date & time: «2026-03-03 09:14:07 (Europe/Berlin)»
        <current_time>«2026-03-03T09:14:07»</current_time>
        It is midnight now: «2026-03-03T00:00:00Z»
        timestamp="«2026-03-03T09:14:07-0800»"
    """,
    "clock_minute": """
        Now: «2026-03-03 09:14»
        Current time: «9:14 AM»
        Current time is «09:14 CET».
        Local time «9:14 p.m.»
        It is «9 PM» now
        [«2026-03-03 09:14»] New session
        Today is «Tuesday, March 3, 2026, 9:14 AM PST», be kind
        Uhrzeit: «09:14 Uhr»
        Aktuelle Uhrzeit: «9.14 Uhr»
        Heure : «09h14»
        Aujourd'hui : «3 mars 2026, 9h14»
        Hola, son las «9:14 del 3 de marzo de 2026»
        started: «2026-03-03 09:14»
        Current UTC time: «2026-03-03T09:14Z»
        {"api_version": 2, "time": "«09:14»"}
        "current_datetime": "«2026-03-03 09:14»"
        The current date and time is «03/03/2026 09:14».
        当前时间：«2026-03-03 09:14»
        Conversation started at «2026-03-03 09:14»
    """,
    "date": """
        Date: «3 March 2026»
        Today is «2026-03-03».
        Today's date is «March 3, 2026».
        Today's date: «March 3rd, 2026»
        Today Date: «05 Mar 2026»
        Current date: «2026-03-05»
        The current date is «Tuesday, 3 March 2026».
        Today is «Tuesday».
        Day of the week: «Wednesday»
        Heute ist «Dienstag», der 3. Tag
        Heute ist der «3. März 2026».
        Datum: «03.03.2026»
        Nous sommes le «mardi 3 mars 2026».
        Fecha: «3 de marzo de 2026»
        Oggi è «3 marzo 2026»
        Hoje é «3 de março de 2026»
        今天是«2026年3月3日 星期二»。
        Current date: «03/03/2026»
        Current date: «3/3/26»
        Current month: «2026-03»
        It is «March 2026» now
        Current week: «2026-W10»
        # Today («2026-03-03 (Tuesday)»)
        <today>«2026/03/03»</today>
        Current time (UTC): «20260303»
    """,
    "epoch": """
        Timestamp: «1772529247»
        now=«1772529247»
        It is «1772529247.123» there
        x «1772529247123» y
        ts: «1772529247123456»
        epoch «1772529247»
    """,
    "uuid": """
        Request «6f0c8f7e-1111-4aaa-8bbb-000000000001» begins
        Never write to /tmp/agent-settings-«6f0c8f7e-1111-4aaa-8bbb-000000000001».json.
        id=req_«6F0C8F7E-1111-4AAA-8BBB-000000000001»
        {"session_id": "«6f0c8f7e-1111-4aaa-8bbb-000000000001»"}
    """,
    "hex_id": """
        trace «4bf92f3577b34da6a3ce929d0e0e4736» begins
        {"default": 1, "session_id": "«ab12cd34»"}
        traceparent: «00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01»
        Request ID: «8f3a9c»
        request id is «8f3a-9c21»
        requestId=«a81bc81b»
        X-Request-ID: «8f3a9c2b»
        nonce: «f00f9a»
        [trace=«8f3a9c»]
        with nonce «8f3a9c» in it
        Session: «sess-1a2b3c4d»
        <session_id>«ab12cd34»</session_id>
        # Session «01HV6Z7Q3W8XJ5T9K2M4N6P8RS»
        user_«01h455vb4pex5vsknk084sn02q»
        message msg_«01XFDUDYJgAACzvnptvVoYEL»
        answer to chatcmpl-«9aB3cD4eF5gH»
        call «507f1f77bcf86cd799439011» now
        written to /tmp/«tmpk3j2x9xq»/out
        files in /tmp/sandbox-«a8f3c2»/work
        written to /tmp/«tmp.Ab3dE5fGhI»
        <__main__.Tool object at «0x7f3a2c1b9d40»>
        Conversation ID «c-20260303-17»
    """,
    "attribution": """
        x-anthropic-billing-header: «cc_version=9.8.7.abc; cc_entrypoint=cli; cch=1a2b3;»
    """,
    "cwd": """
        cwd: «/home/u/proj»
        Working directory: «/home/u/proj»
        Current working directory is «/home/alice/src/app».
        Primary working directory: «C:\\Users\\John Doe\\proj»
        <cwd>«/srv/agent-17»</cwd>
        PWD=«/workspace/x»
        - Workspace: `«~/code/x»`
        "workspaceRoot": "«/home/u/x»"
        The temp dir is «/var/tmp/x», use it
    """,
    "git_state": """
        «Current branch: main»
        «On branch feature/x-1»
        «HEAD is abc1234»
        «Last commit: abc1234 fix tax»
        «git branch: main»
        «Current branch: main (dirty)»
        «Git status: 3 modified files»
        Deployed from commit «8f3a9c2b», be kind
        «Git info: branch=main commit=abc1234def dirty»
        «Repository: acme/shop @ abc1234 (dirty)»
    """,
    "hostname": """
        Hostname: «web-01.prod.example»
        host=«ip-10-0-12-7.ec2.internal»
        Served by «gateway-7d9f8b6c5d-x2x4z» today
        pod: «gw-3»
        PID: «48213»
        "container_id": "«1a2b3c4d5e6f»"
        Build: «8f3a9c2b»
        build hash is «8f3a9c2»
        Running on host «web-03».
        The server (build «8f3a9c2»)
        Served from pod «gw-3» today
        Running on «ip-10-0-12-7»
    """,
    "signed_url": """
        https://b.example/k.png?«X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20260303T091407Z&X-Amz-Signature=ab12»
        <https://cdn.example/a?w=20&«Expires=1772529247&Signature=abc~_&Key-Pair-Id=K1»&h=5>
        (https://a.example/c?«sv=2024-01-01&se=2026-03-03T10%3A00%3A00Z&sr=b&sp=r&sig=a%2Bb%3D»)
        see https://img.example/cat.png?«X-Sig=aaa111&X-Date=20260303T091407Z».
        https://s.example/x?«GoogleAccessId=a@b&Expires=1772529247&Signature=x%2F»
        https://s.example/x?a=1&amp;«token=9f8e»
    """,
    "counter": """
        This is turn «7 of 20».
        Turn «7/20»
        You are on turn «3».
        Turn: «7»
        <turn>«7»</turn>
        Iteration «3 of 10», go on
        You have «12,345 tokens left».
        Token usage: «35000/200000»; be brief
        Tokens remaining: «165000»
        Token budget: «183,000 of 200,000»
        remaining budget: «$4.20»
        Context left: «83%»
        «35% of the context used»
        You have used «12%» of your budget.
        already spent $«4.20»
        «3 tool calls remaining»
        messageCount: «12»
        Uptime: «3h 12m 5s»
        Current step: «4»
        Remaining steps: «3»
        You have «3 attempts left».
        Progress: «7/20»
        Message #«12 of 50»
    """,
}
"""What a line says by itself: every span is certain. Marks stand around the span."""

UNCERTAIN = {
    "date": """
        Acme was founded on «2019-04-01» and grew
        We moved on «12 May 2021 at 10:00».
        API version «2023-10-16»
        the current API version is «2023-10-16»
        The fair opens on «Tuesday, 3 March 2026»
        Effective date: «2024-01-15»
        Prices as of «1 January 2026» apply
        Released «03.03.2024»
        Date of birth: «1990-05-06»
    """,
    "clock_second": """
        Start time in ISO 8601, e.g. «2024-01-15T09:30:00Z»
        such as «09:30:00»
        The format is like «2024-01-15 09:30:00»
        from «2024-01-15T00:00:00Z» on
        Timeout: «00:05:00»
        every day at «06:00:00»
    """,
    "epoch": """
        order «1772529247» has come
        for example «1772529247123»
    """,
    "uuid": """
        e.g. «6f0c8f7e-1111-4aaa-8bbb-000000000001»
        the id «123e4567-e89b-12d3-a456-426614174000»
        the id «00000000-0000-0000-0000-000000000000»
    """,
    "hex_id": """
        sha256:«9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08»
    """,
    "counter": """
        Step «1 of 3»: greet
    """,
}

NOTHING = """
    Opening hours 09:00-17:30.
    We are open Monday to Friday, 9:00 AM - 5:00 PM, and on Saturday from 10:00 to 14:00.
    Check in at 15:00, check out by 11:00.
    Knowledge cutoff: 2024-06. Cutting Knowledge Date: December 2023
    The ratio is 16:9, John 3:16, and a score of 10:15.
    Model gpt-4o-2024-11-20 or claude-3-5-sonnet-20241022
    fe80::1:2:3, 10.0.12.7, 12:34:56:78:9a:bc and version 1.2.3
    The colours are #a1b2c3 and #a1b2c3ff, deadbeefdeadbeef is a word
    "session_id": {"type": "string", "description": "the id of the session"}
    request_id: string, cwd: string, hostname: the name of the host, pid: integer
    Session: morning. Host: be kind. Branch: create one. Commit: write a message.
    AM I here? MD files. The branch of a tree. Use git status to see what changed.
    Max turns: 20. Retry count 3.
    a host of 3 pods on node v18.2, a container 12 high, build 7 of it, commit 3 times, host 10 events
    Step 1: greet. Step 2: ask. Use at most 3 attempts. There are 5 items left in stock.
    See https://example.com/a?page=2&sort=date&q=x and https://example.com/2024/05/01/post
    margin-left: 20px; width: 30%; opacity .5
    What does 'x-anthropic-billing-header: cc_version=1; cch=00abc;' mean?
    Call 2025550123, card 4242 4242 4242 4242, ISBN 9783161484100, max 2147483647
    today we sell 2000 shoes and 1,772,529,247 socks
"""


def lines(block: str) -> list[str]:
    """The lines of an indented block."""
    return [line.strip() for line in block.strip().splitlines()]


def marked(line: str) -> tuple[str, int, int]:
    """The text of a line without its marks, and where they stood."""
    before, _, rest = line.partition("«")
    inside, _, after = rest.partition("»")
    return before + inside + after, len(before), len(before) + len(inside)


def rows(table: dict[str, str]) -> list[tuple[str, str]]:
    """(kind, line) of a table."""
    return [(kind, line) for kind, block in table.items() for line in lines(block)]


@pytest.mark.parametrize(("kind", "line"), rows(CERTAIN))
def test_what_moves_is_found_exactly(kind: Kind, line: str) -> None:
    """The span covers the whole value, and is certain."""
    text, start, end = marked(line)
    assert find_volatile(text) == [VolatileSpan(start, end, kind, True)]


@pytest.mark.parametrize(("kind", "line"), rows(UNCERTAIN))
def test_what_may_be_a_fact_is_not_certain(kind: Kind, line: str) -> None:
    """Examples, versions, founding dates look the same and are kept apart; they are not masked."""
    text, start, end = marked(line)
    assert find_volatile(text) == [VolatileSpan(start, end, kind, False)]
    assert mask(text) == text


@pytest.mark.parametrize("line", lines(NOTHING))
def test_facts_are_left_alone(line: str) -> None:
    """Opening hours, ratios, model names, schemas and prose are nothing."""
    assert find_volatile(line) == []


STAMPS = [
    "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S+01:00",
    "%Y/%m/%d %H:%M:%S", "%a, %d %b %Y %H:%M:%S +0000", "%a %b %d %H:%M:%S %Y", "%a %b %e %H:%M:%S UTC %Y",
    "%A, %d %B %Y, %H:%M:%S", "%A, %B %d, %Y at %I:%M:%S %p", "%d.%m.%Y %H:%M:%S", "%d/%m/%Y, %H:%M:%S",
    "%m/%d/%Y %I:%M:%S %p", "%c", "%H:%M:%S", "%Y%m%dT%H%M%SZ", "%Y%m%d%H%M%S", "%Y%m%d-%H%M%S",
    "%d/%b/%Y:%H:%M:%S +0000", "%Y年%m月%d日 %H:%M:%S", "%X on %x", "%Y-%m-%d %H:%M", "%A, %B %d, %Y, %I:%M %p",
    "%d %b %Y %H:%M", "%I:%M %p", "%H:%M", "%d.%m.%Y, %H:%M Uhr", "%Hh%M", "%Y-%m-%d", "%d %B %Y", "%B %d, %Y",
    "%A, %B %d, %Y", "%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%A", "%Y-W%V", "%B %Y",
]  # fmt: skip
MOMENTS = st.datetimes(datetime.fromisoformat("2019-01-01"), datetime.fromisoformat("2039-01-01"))


@pytest.mark.parametrize("form", STAMPS)
@given(a=MOMENTS, b=MOMENTS)
@settings(max_examples=25)
def test_a_masked_clock_stands_still(form: str, a: datetime, b: datetime) -> None:
    """Whatever way a program prints the time, two requests at two times have one masked text."""
    texts = [f"You help.\nToday is {moment.strftime(form)}\nBe brief." for moment in (a, b)]
    assert mask(texts[0]) == mask(texts[1]) != texts[0]


@pytest.mark.parametrize("form", STAMPS[:21])
@given(a=MOMENTS, b=MOMENTS)
@settings(max_examples=25)
def test_seconds_need_no_cue(form: str, a: datetime, b: datetime) -> None:
    """A clock to the second is a clock whatever is around it; only midnight sharp may be a fact."""
    texts = [f"Log {max(moment, moment.replace(second=1)).strftime(form)} ok" for moment in (a, b)]
    assert mask(texts[0]) == mask(texts[1]) != texts[0]


HEX, WORD = string.hexdigits[:16], string.ascii_letters + string.digits
IDS: dict[str, Any] = {
    "see {}.": st.uuids(version=4).map(str),
    "/tmp/agent-{}/x": st.uuids(version=4).map(str),
    "trace {} ends": st.text(HEX, min_size=32, max_size=32).filter(lambda t: not t.isdigit() and not t.isalpha()),
    "Request ID: {}": st.text(HEX, min_size=8, max_size=8).filter(lambda t: not t.isalpha()),
    "nonce={};": st.text(WORD, min_size=12, max_size=12).filter(lambda t: not t.isalpha()),
    "It is {} now": st.integers(1_600_000_000, 1_999_999_999),
    "seen {} ago": st.integers(1_600_000_000_000, 1_999_999_999_999),
    "t={}!": st.floats(1.6e9, 1.99e9, width=64).map(lambda seconds: f"{seconds:.3f}"),
    "This is turn {} of 50": st.integers(1, 10**9),
    "Tokens left: {}": st.integers(0, 10**9).map(lambda n: f"{n:,}"),
    "pid={}": st.integers(2, 4_194_304),
    "https://a.example/i.png?w=2&X-Amz-Date=x&X-Amz-Signature={}": st.text(HEX, min_size=64, max_size=64),
    "Working directory: {}": st.text(WORD + "-_.", min_size=1, max_size=9).map(lambda name: f"/home/{name}0/src"),
}


@pytest.mark.parametrize("template", IDS)
@given(data=st.data())
@settings(max_examples=25)
def test_a_masked_value_stands_still(template: str, data: st.DataObject) -> None:
    """Two values of one kind have one masked text, and the text around them is still there."""
    a, b = (template.format(data.draw(IDS[template])) for _ in range(2))
    assert mask(a) == mask(b)
    front, _, back = template.partition("{}")
    assert mask(a).startswith(front.partition("X-Amz")[0])
    assert mask(a).endswith(back.removeprefix(" of 50"))


def found_in(body: Any, pointer: str) -> list[tuple[int, int, str, bool]]:
    """The spans of the text at a JSON pointer."""
    for step in pointer.split("/")[1:]:
        body = body[int(step)] if isinstance(body, list) else body[step]
    return [(*span[:3], span.certain) for span in find_volatile(body)]


@pytest.mark.parametrize(
    ("number", "name", "key", "kind"),
    [
        (1, "A", "findings_on_A", "clock_second"),
        (1, "fixed", "findings_on_fixed", "date"),
        (4, "A", "findings_on_A", "attribution"),
        (5, "A", "findings_on_A", "git_state"),
        (7, "A", "findings_on_A", "uuid"),
        (32, "A", "findings_on_A", "signed_url"),
    ],
)
def test_the_cases_are_found(number: int, name: str, key: str, kind: Kind) -> None:
    """One span of the right kind where each case's finding is, from the one body alone."""
    (finding,) = case(number)["expected"][key]
    ((start, end, found, certain),) = found_in(case(number)["input"][name], finding["path"])
    assert (found, certain) == (kind, True)
    assert start <= finding["start"] < finding["end"] <= end


def test_case_03_has_only_dates_that_may_be_facts() -> None:
    """Founding dates, a version and opening hours: at most a hint."""
    spans = found_in(case(3)["input"]["A"], "/messages/0/content")
    assert {(kind, certain) for _, _, kind, certain in spans} == {("date", False)}


def test_case_05_has_one_text_whatever_was_saved() -> None:
    """The whole block of git lines is one span, so another changed file is no other text; what is before stays."""
    inputs = case(5)["input"]
    a, b = (inputs[name]["messages"][0]["content"] for name in "AB")
    assert mask(a) == mask(b)
    assert mask(a).startswith(a[: case(5)["expected"]["stable_chars_before_block"]])


def test_case_29_rendered_date_is_found() -> None:
    """A date that the chat template printed is one too."""
    inputs = case(29)["input"]
    assert mask(inputs["rendered_day1"]) == mask(inputs["rendered_day2"]) != inputs["rendered_day1"]


AGENT = """You are a coding agent.
<env>
Working directory: /home/alice/src/shop
Is directory a git repo: Yes
Platform: linux
Today's date: 2026-03-03
</env>

gitStatus: This is the git status at the start of the conversation. It will not update.
Current branch: main

Main branch (you will usually use this for PRs): main

Status:
 M src/a.py
?? notes.txt

Recent commits:
abc1234 fix tax rounding
9f8e7d6 Merge pull request #12

# Tone
Be brief.
"""


def test_an_agents_environment_is_found_piece_by_piece() -> None:
    """Directory, date and the state of the working copy are three spans, and the rest of the prompt is none."""
    assert [(span.kind, span.certain) for span in find_volatile(AGENT)] == [
        ("cwd", True),
        ("date", True),
        ("git_state", True),
    ]
    masked = mask(AGENT)
    assert masked.startswith("You are a coding agent.\n<env>\nWorking directory: ⟦cwd⟧\nIs directory")
    assert masked.endswith("⟦git_state⟧\n\n# Tone\nBe brief.\n")


LINES = st.sampled_from(
    [line for kind, line in rows(CERTAIN | UNCERTAIN) if kind not in ("attribution", "git_state")]
)


@given(st.lists(LINES, max_size=8))
def test_lines_do_not_disturb_each_other(chosen: list[str]) -> None:
    """What is found in a line is found in every text that has the line: sorted, without overlap."""
    text = "\n".join(marked(line)[0] for line in chosen)
    spans = find_volatile(text)
    assert [text[span.start : span.end] for span in spans] == [
        line.partition("«")[2].partition("»")[0] for line in chosen
    ]
    assert all(left.end <= right.start for left, right in pairwise(spans))


@given(st.text("0123456789:-/. TZapmn[]<>=", max_size=80) | st.text(max_size=80), st.sets(st.sampled_from(KINDS)))
def test_any_text_has_ordered_spans_and_kinds_choose_among_them(text: str, kinds: set[Kind]) -> None:
    """Spans lie inside the text, in order, never empty; asking for some kinds gives those of the full answer."""
    spans = find_volatile(text)
    assert find_volatile(text, kinds) == [span for span in spans if span.kind in kinds]
    edges = [edge for span in spans for edge in span[:2]]
    assert edges == sorted(edges)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)


@given(st.lists(LINES, max_size=5))
def test_masking_twice_is_masking_once(chosen: list[str]) -> None:
    """A placeholder is no volatile text."""
    masked = mask("\n".join(marked(line)[0] for line in chosen))
    assert mask(masked) == masked


HOSTILE = {
    "digits": "1", "spaces": " ", "lines": "\n", "dashes": "-", "colons": ":", "hex": "a1", "ulid": "01",
    "paths": "a b\\ ",
    "schemes": "://", "base64": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0123456789+/", "now": "now ", "branch": "branch ",
    "status": "status", "git": "branch main\n", "commit": "a commit ", "versions": "1.", "pods": "a-bbbbbbbb-bbbbb",
    "prefixed": "req_", "temp": "/tmp/a-", "brackets": "[", "quotes": "cwd:\"'", "counts": "1,234", "label": "cwd: ",
    "stamps": "2026-03-03T09:14:07Z,", "query": "sig=1&", "words": "id ", "march": "3 marzzzz ", "hours": "1:11 ",
}  # fmt: skip
STARTS = ("", "id: ", "cwd: C:\\", "http://a?", "x-billing-", "Today is ")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_costs_no_more_than_its_length(name: str) -> None:
    """Half a megabyte of any repeated beginning of a form ends (a quadratic pattern would run into the timeout)."""
    unit = HOSTILE[name]
    size = 500_000 if len(unit) == 1 else 150_000
    text = STARTS[len(name) % len(STARTS)] + unit * (size // len(unit))
    spans = find_volatile(text)
    assert all(span.end <= len(text) for span in spans)
