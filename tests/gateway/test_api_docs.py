"""docs/api.md: every path of the operators' API, each example with the very fields that the API documents."""

import re
from pathlib import Path
from typing import Any

import msgspec

from gateway.app import create_app
from gateway.config import Config

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## `GET (/api/[^?`]+).*?`$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
DOCUMENT = create_app(Config()).openapi()


def test_every_path_has_a_section() -> None:
    """And none is there that the gateway does not have."""
    assert list(SECTIONS) == [*dict.fromkeys(SECTIONS)]
    assert set(SECTIONS) == {path for path in DOCUMENT["paths"] if path.startswith("/api/")}


def test_examples_have_the_documented_fields() -> None:
    """All of them, at every depth, and no other; the first example of a section is a whole answer."""
    for path, text in SECTIONS.items():
        example = msgspec.json.decode(re.findall(r"```json\n(.*?)```", text, re.DOTALL)[0])
        content = DOCUMENT["paths"][path]["get"]["responses"]["200"]["content"]
        if "application/json" in content:
            check(example, content["application/json"]["schema"], path)
        else:  # a tick
            check(example["overview"], {"$ref": "#/components/schemas/Overview"}, path)
            check(example["point"], {"$ref": "#/components/schemas/Point"}, path)


def check(value: Any, schema: dict[str, Any], where: str) -> None:
    """Fails unless every object in it has exactly the fields of its schema."""
    if "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for choice in schema.get("anyOf", ()):
        if (value is None) == (choice.get("type") == "null"):
            check(value, choice, where)
    if isinstance(value, dict) and "properties" in schema:
        assert set(value) == set(schema["properties"]), where
        for name, each in value.items():
            check(each, schema["properties"][name], f"{where} {name}")
    if isinstance(value, list) and "items" in schema:
        assert value, where
        for each in value:
            check(each, schema["items"], where)
