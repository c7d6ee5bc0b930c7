"""Everything a caller can do wrong, as one tree. Messages are one line and say what to do.

PrefixgateError
├── BodyError          a request body that no engine can accept (code, JSON pointer, byte offset)
├── TraceError         a trace or capture line that does not parse (file, line)
├── UsageError         a usage payload that is not an object
├── EngineError        an engine's answer that does not parse, or an engine we cannot drive
├── RoutingError       no worker, an unknown worker or policy, a release that cannot be
├── PromptError        a prompt that cannot be rendered and tokenized here
└── ConfigError        configuration or command line
"""


class PrefixgateError(Exception):
    """Base of all named errors of prefixgate."""


class BodyError(PrefixgateError):
    """A request body that no engine can accept.

    code: stable, machine-readable. pointer: JSON pointer of the place, "" for the whole body.
    offset: byte offset in the body, or None when it is not known.
    """

    def __init__(self, code: str, message: str, *, pointer: str = "", offset: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.pointer = pointer
        self.offset = offset


class TraceError(PrefixgateError):
    """A line of a trace or capture that does not parse; the message names file and line."""


class UsageError(PrefixgateError):
    """A usage payload that is not an object."""


class EngineError(PrefixgateError):
    """An engine's answer that does not parse, or an engine that cannot be driven."""


class RoutingError(PrefixgateError):
    """No worker to choose from, an unknown worker or policy, or a release of an unknown route."""


class ConfigError(PrefixgateError):
    """Configuration or command line that cannot be used; names the key and the nearest valid one."""


class PromptError(PrefixgateError):
    """A prompt that cannot be rendered and tokenized here; says why."""
