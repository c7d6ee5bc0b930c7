"""gateway.api_tree: what a route's prompts share, and who holds it."""

from tests.gateway.operators import RULES, asks, got, one_engine, sent


async def test_the_tree_shows_what_is_shared_and_no_text() -> None:
    """System text that all share is one node, its branches part there; the worker holds it; ids are hashes."""
    long = "Tell me more about it, please. " * 60
    async with one_engine() as gateway:
        empty = await got(gateway, "/api/tree")
        for version, question in (("a", "One. " + long), ("a", "Two. " + long), ("b", "One. " + long)):
            await sent(gateway, asks(RULES, question), x_prefixgate_prompt_version=version)
        tree = await got(gateway, "/api/tree?route=default")
        tokens = gateway.records[-1].input_tokens or 0
    root, *branches = tree["nodes"]
    assert empty == {"route": "default", "requests": 0, "nodes": []}
    assert (root["parent"], root["depth_tokens"], root["requests"], root["share"]) == (None, 0, 3, 1.0)
    assert (root["prompt_versions"], root["holders"]) == (["a", "b"], 1)
    assert sorted(branch["requests"] for branch in branches) == [1, 2]
    assert {branch["parent"] for branch in branches} == {root["id"]}
    assert {branch["depth_tokens"] for branch in branches} == {root["tokens"]}
    assert root["tokens"] + max(branch["tokens"] for branch in branches) <= tokens
