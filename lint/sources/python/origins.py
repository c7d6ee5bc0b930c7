"""Where text that changes comes from: names of the standard library and of well-known packages, by what they return.

Kinds: clock (sub-day time), date (a day), id, random, sampled, shuffled, unordered, replica (one per process or
host), state (working directory, git), docs (retrieved text), signed (a URL with an expiry), environment (a variable),
defaulted (a variable that the code has another value for).
"""

from __future__ import annotations

import re
from typing import Final

CALLS: Final[dict[str, str]] = {
    **dict.fromkeys(
        """time.time time.time_ns time.strftime time.ctime time.asctime time.localtime time.gmtime time.monotonic
        time.perf_counter datetime.datetime.now datetime.datetime.utcnow datetime.datetime.today pendulum.now
        arrow.now arrow.utcnow django.utils.timezone.now django.utils.timezone.localtime pandas.Timestamp.now
        pandas.Timestamp.utcnow email.utils.formatdate""".split(),
        "clock",
    ),
    **dict.fromkeys(["datetime.date.today", "pendulum.today", "pandas.Timestamp.today"], "date"),
    **dict.fromkeys(
        """uuid.uuid1 uuid.uuid4 uuid.uuid6 uuid.uuid7 secrets.token_hex secrets.token_urlsafe secrets.token_bytes
        os.urandom ulid.new ulid.ULID nanoid.generate shortuuid.uuid bson.ObjectId""".split(),
        "id",
    ),
    **dict.fromkeys(
        """random.random random.randint random.randrange random.uniform random.gauss random.getrandbits
        secrets.randbelow numpy.random.rand numpy.random.randint numpy.random.random numpy.random.uniform""".split(),
        "random",
    ),
    **dict.fromkeys(
        """random.choice random.choices random.sample secrets.choice numpy.random.choice
        numpy.random.permutation""".split(),
        "sampled",
    ),
    **dict.fromkeys(["os.getenv", "os.environ.get"], "environment"),
    "itertools.count": "counter",
    **dict.fromkeys(["random.shuffle", "numpy.random.shuffle"], "shuffled"),
    **dict.fromkeys(
        """os.listdir os.scandir os.walk glob.glob glob.iglob set frozenset
        concurrent.futures.as_completed asyncio.as_completed""".split(),
        "unordered",
    ),
    **dict.fromkeys(
        "os.getpid os.getppid socket.gethostname socket.getfqdn platform.node os.uname".split(), "replica"
    ),
    **dict.fromkeys(
        """os.getcwd pathlib.Path.cwd subprocess.check_output subprocess.run subprocess.getoutput subprocess.Popen
        os.popen""".split(),
        "state",
    ),
}

METHODS: Final[dict[str, str]] = {
    **dict.fromkeys("iterdir rglob glob".split(), "unordered"),
    **dict.fromkeys(
        """similarity_search similarity_search_with_score max_marginal_relevance_search get_relevant_documents
        aget_relevant_documents retrieve aretrieve asimilarity_search""".split(),
        "docs",
    ),
    **dict.fromkeys(
        "generate_presigned_url generate_signed_url create_presigned_url presigned_get_object".split(), "signed"
    ),
}

RETRIEVES: Final = frozenset({"invoke", "ainvoke", "search", "query"})
"""Methods of retrievers, that others have too."""
PER_PROCESS: Final[dict[str, str]] = {
    **dict.fromkeys(("clock", "id", "random", "sampled", "shuffled", "state"), "replica"),
    "environment": "dynamic",
    "defaulted": "dynamic",
}
"""What becomes of kinds that are evaluated once, when a module is imported. A date stays one."""
_SUB_DAY = re.compile(r"%-?[HIMSfsXcpTRr]")
_DAY_METHODS = frozenset({"date", "toordinal", "isoweekday", "weekday"})
_DAY_FIELDS = frozenset({"year", "month", "day"})
_SAME_DAY = {"clock": "date"}


def of_call(dotted: str) -> str | None:
    """The kind of what a call of this dotted name returns, or None."""
    return CALLS.get(dotted) or METHODS.get(dotted.rpartition(".")[2])


def narrows_to_day(method: str, text_format: str | None) -> bool:
    """Whether a method (with its format) leaves only the day of a clock."""
    if text_format is not None and "%" in text_format:
        return not _SUB_DAY.search(text_format)
    return method in _DAY_METHODS or method in _DAY_FIELDS


def narrow(method: str, text_format: str | None) -> dict[str, str]:
    """The renaming of kinds that reading a value through this method does."""
    return _SAME_DAY if narrows_to_day(method, text_format) else {}
