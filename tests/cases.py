"""The public-bug cases under tests/data/cases: inputs with the right answers, one JSON file each."""

import json
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "data" / "cases"


def case(number: int) -> dict[str, Any]:
    """The case with this number."""
    (path,) = CASES.glob(f"{number:02}-*.json")
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def wire(body: Any) -> bytes:
    """A body as a client would send it, keys in the order given."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
