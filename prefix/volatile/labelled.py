"""Values that a label gives away: `cwd: /home/u`, `Session ID is 8f3a`, `<turn>7</turn>`, `"pod": "gw-7d9f-x2x4z"`.

The separator is found first, then the last words before it are looked up in one table; so a new label is one word
more in `_LABELS`, and a text without separators costs one scan.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from prefix.volatile.counters import NUMBER
from prefix.volatile.cues import moves
from prefix.volatile.span import Kind, VolatileSpan

_PATH = r"(?:/|~|[A-Za-z]:[\\/]|\\\\|file://)(?:[^\s\"'`<>|,;)\]]|\\ | (?=[^\s\\\"]{1,40}\\))*"
_NAME = r"(?=\w{0,80}(?:[0-9]|[.-]\w))[A-Za-z0-9][\w.-]*"
_MACHINE = r"(?!v?[0-9]+(?:\.[0-9]+){0,2}(?![\w.-]))(?=[\w.-]{0,80}[0-9])[A-Za-z0-9][\w.-]*"
_RANK = r"(?=[\w.-]{0,80}[0-9])[A-Za-z0-9][\w.-]*"
_RANDOM = r"(?=[\w-]{0,80}[0-9])(?=[\w-]{0,80}[A-Za-z])[A-Za-z0-9][\w-]{5,}"
_ID = r"(?=[\w.:+/=-]{0,80}[0-9])[A-Za-z0-9][\w.:+/=-]{3,}"
_HASH = r"(?=[0-9a-f]{0,64}[0-9])[0-9a-f]{7,64}(?![\w])"
_COUNT = (
    rf"(?:[0-9]{{1,6}}\ ?[dhms](?![a-z])\ ?)+|[$€£]?{NUMBER}(?:\ ?(?:of|/|out\ of|von|de|sur)\ ?[$€£]?{NUMBER})?"
    r"(?:\ ?(?:ms|s|sec|min|h|hours?|minutes?|seconds?|tokens?|%)\b)?"
)


class _Value(NamedTuple):
    """What a label announces: the kind, and the form the value must have.

    cued: a span only where a cue says that it moves.
    """

    kind: Kind
    form: re.Pattern[str]
    cued: bool = False


_CWD = _Value("cwd", re.compile(_PATH))
_HOST = _Value("hostname", re.compile(_NAME))
_MACHINE_NAME = _Value("hostname", re.compile(_MACHINE))
_REPLICA = _Value("hostname", re.compile(_RANK))
_BUILD = _Value("hostname", re.compile(_HASH))
_REQUEST_ID = _Value("hex_id", re.compile(_ID))
_REQUEST = _Value("hex_id", re.compile(_RANDOM))
_COMMIT = _Value("git_state", re.compile(_HASH))
_TALLY = _Value("counter", re.compile(_COUNT, re.VERBOSE))
_STEP = _Value("counter", re.compile(_COUNT, re.VERBOSE), cued=True)

_OWNERS = (
    "request req session sess trace span correlation conversation thread run job task invocation execution "
    "transaction interaction message msg response event chat operation call query agent".split()
)
_TURNS = "turn iteration round message request query exchange".split()
_UNITS = (
    "token tokens context budget credit credits quota request requests message messages turn turns call calls "
    "time step steps attempts retries".split()
)
_LABELS: dict[str, _Value] = {
    **dict.fromkeys(
        "cwd pwd workingdirectory workingdir workdir currentdirectory currentdir currentfolder workspace "
        "workspaceroot workspacepath workspacefolder workspacedirectory projectroot projectpath projectdirectory "
        "projectdir reporoot repositoryroot repopath repositorypath homedirectory homedir tempdirectory tempdir "
        "temporarydirectory "
        "tmpdir scratchpad scratchpaddirectory arbeitsverzeichnis".split(),
        _CWD,
    ),
    **dict.fromkeys("hostname computername machinename nodename podname fqdn".split(), _HOST),
    **dict.fromkeys(
        "host node pod container containerid containername server serverid servername machine machineid instance "
        "instanceid worker workername".split(),
        _MACHINE_NAME,
    ),
    **dict.fromkeys("pid processid workerid replica replicaid rank".split(), _REPLICA),
    **dict.fromkeys(
        "build buildhash buildid buildsha revision deployment deploymentid releaseid imagedigest imagetag gitsha sha "
        "commitsha commithash".split(),
        _BUILD,
    ),
    **dict.fromkeys("commit gitcommit head".split(), _COMMIT),
    **{owner + suffix: _REQUEST_ID for owner in _OWNERS for suffix in ("id", "uuid", "guid", "key", "ref")},
    **dict.fromkeys(
        "nonce salt cachebuster traceparent xrequestid uniqueid requesttoken sessiontoken".split(), _REQUEST_ID
    ),
    **dict.fromkeys("session trace request conversation thread correlation seed".split(), _REQUEST),
    **{turn + suffix: _TALLY for turn in _TURNS for suffix in ("number", "no", "count", "counter", "index")},
    **{
        unit + suffix: _TALLY
        for unit in _UNITS
        for suffix in ("left", "remaining", "used", "sofar", "spent", "usage", "budget")
    },
    **{f"remaining{unit}": _TALLY for unit in _UNITS},
    **dict.fromkeys("turn iteration progress elapsed elapsedtime uptime requestsofar".split(), _TALLY),
    **dict.fromkeys("step stepnumber attempt attemptnumber retry retrycount".split(), _STEP),
}
_OPENING = r"[\"'*`]{0,3}[ \t]{0,4}[\"'*`(<]{0,3}(?=[\w/~\\$€£])"
_BARE = "id ID Id host Host hostname pod Pod node Node container instance build Build commit Commit nonce".split()
"""Last words of labels that need nothing between them and the value."""
_SEPARATORS = (
    re.compile(rf"([:=>]){_OPENING}"),
    re.compile(rf"( is){_OPENING}"),
    re.compile(rf"(?:{'|'.join(_BARE)})( #?){_OPENING}"),
)
_NOT_LABEL = re.compile(r"[^\w .-]")
_LABEL_REACH, _LABEL_WORDS = 40, 3
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_POD = re.compile(r"-[bcdf-hj-np-tv-xz24-9]{7,10}-[bcdf-hj-np-tv-xz24-9]{5}(?![\w-])")
_POD_NAME = re.compile(r"[a-z][a-z0-9-]*$")
_INSTANCE = re.compile(r"ip-[0-9]{1,3}(?:-[0-9]{1,3}){3}(?:\.[a-z0-9.-]*[a-z0-9])?")


def find_labelled(text: str) -> Iterator[VolatileSpan]:
    """Spans of the kinds cwd, hostname, git_state, hex_id and counter behind a label."""
    for separators in _SEPARATORS:
        for separator in separators.finditer(text):
            span = _value(text, separator.start(1), separator.end())
            if span is not None:
                yield span


def _value(text: str, label_end: int, at: int) -> VolatileSpan | None:
    """The value at `at`, if it has the form that the label which ends at `label_end` announces."""
    value = _announced(text[max(0, label_end - _LABEL_REACH) : label_end])
    found = value.form.match(text, at) if value is not None else None
    if value is None or found is None:
        return None
    cue = moves(text, label_end)
    end = at + len(found[0].rstrip(".:" if value.kind == "cwd" else ".,:_-"))
    return VolatileSpan(at, end, value.kind, cue is not False) if cue or not value.cued else None


def find_replicas(text: str) -> Iterator[VolatileSpan]:
    """Spans of kind hostname that need no label: names of Kubernetes pods and of cloud instances."""
    for found in _POD.finditer(text):
        reach = max(0, found.start() - 64)
        name = _POD_NAME.search(text[reach : found.start()])
        if name is not None:
            yield VolatileSpan(reach + name.start(), found.end(), "hostname", True)
    for found in _INSTANCE.finditer(text):
        yield VolatileSpan(*found.span(), "hostname", True)


def _announced(before: str) -> _Value | None:
    """What the label at the end of `before` announces; of several the longest."""
    label = _NOT_LABEL.split(before.rstrip("\"'*`)] \t"))[-1]
    words = [word.lower() for word in _WORD.findall(label)[-_LABEL_WORDS:]]
    names = ("".join(words[start:]) for start in range(len(words)))
    return next((_LABELS[name] for name in names if name in _LABELS), None)
