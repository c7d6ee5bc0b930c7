"""What went wrong with Redis, in words that say what to do. Never a password: Redis' own messages carry none."""

from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    MasterDownError,
    MovedError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from redis.exceptions import TimeoutError as RedisTimeoutError

_PASSWORD = "it refuses the password: set PREFIXGATE_REDIS_PASSWORD, or redis.password_file, or the URL's"  # noqa: S105
_WORDS: tuple[tuple[type[Exception], str], ...] = (
    (AuthenticationError, _PASSWORD),
    (OutOfMemoryError, "it is full (maxmemory, and its policy evicts nothing that it could): nothing can be shared"),
    (ReadOnlyError, "it is a read-only replica: name the primary"),
    (BusyLoadingError, "it is loading its data"),
    (ClusterDownError, "its cluster is down"),
    (MasterDownError, "it is a replica whose primary is down"),
    (MovedError, "it is one node of a cluster"),
    (RedisTimeoutError, "it does not answer in time"),
    (TimeoutError, "it does not answer in time"),
)


def reason_of(error: Exception, key: str) -> str:
    """One line. key: the one that is used."""
    if isinstance(error, NoPermissionError):
        return f"its user may not do what is needed (XADD, XREAD, EXPIRE on {key!r}): {error}"
    for kind, words in _WORDS:
        if isinstance(error, kind):
            return words
    if isinstance(error, ResponseError):
        text = str(error)
        if "WRONGTYPE" in text:
            return f"the key {key!r} holds something that is not ours: choose another redis.fleet"
        return _PASSWORD if text.startswith(("NOAUTH", "WRONGPASS")) else f"it refused: {text}"
    if isinstance(error, RedisError | OSError):
        return f"it cannot be reached ({error})"
    return str(error)
