"""CSV exports (Langfuse's UI and blob storage, queries on LiteLLM's spend logs): a row is an object of texts.

What is no list or object is text in a CSV; whoever reads the row takes it as JSON text (exports.given). A table
without a column that could hold a prompt is no log, and no business of this linter.
"""

import csv
import io
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

_PROMPTS: Final = frozenset(("input", "messages", "request_body", "proxy_server_request"))


def rows(stream: BinaryIO, longest: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line and fields of each row, empty ones left out. Raises csv.Error for a field of more than `longest`."""
    limit = csv.field_size_limit(longest)
    text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
    try:
        reader = csv.DictReader(text)
        if _PROMPTS.isdisjoint(reader.fieldnames or ()):
            return
        for row in reader:
            yield reader.line_num, {key: value for key, value in row.items() if key and value}
    finally:
        csv.field_size_limit(limit)
        text.detach()  # or it would close the file
