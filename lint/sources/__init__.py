"""One module per kind of input; the others here help them. A module is imported when a file it reads is linted."""

SUFFIXES: dict[str, str] = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".j2", ".jinja", ".jinja2"), "jinja"),
    **dict.fromkeys(("tokenizer_config.json", "chat_template.json"), "chat_template"),
    **dict.fromkeys(("tools.json", "functions.json", "schema.json"), "tool_schema"),
    **dict.fromkeys((".yaml", ".yml"), "prompt_yaml"),
    **dict.fromkeys((".txt", ".prompt"), "prompt_text"),
    **{f"{kind}{gz}": "traffic" for kind in (".jsonl", ".ndjson", ".json", ".csv") for gz in ("", ".gz")},
}
"""Which module reads files that end so; of two that fit the longer one decides."""
