"""Label values are bounded whatever clients send."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.labels import OTHER, UNMATCHED, UNVERSIONED, Admitted, Labels

CASE = json.loads((Path(__file__).parents[1] / "data/cases/67-label-cardinality.json").read_text())

HOSTILE = [
    "../../x\n",
    "a" * 65,
    "",
    " ",
    "tab\there",
    "you are a helpful assistant",
    'quote"d',
    "\u202eevil",
    "na\u00efve",
    "nul\0",
    "-leading",
    "{}",
    OTHER,
    UNVERSIONED,
    UNMATCHED,
]


def case_labels() -> Labels:
    """Labels configured as case 67 says."""
    given = CASE["input"]["configured"]
    return Labels(
        customers=given["customers"],
        models=given["models"],
        paths=given["routes"],
        max_prompt_versions=given["max_prompt_versions"],
    )


def case_tuple(labels: Labels, request: dict[str, str]) -> list[str]:
    """One request's labels in the order of case 67."""
    version = labels.prompt_version("default", request["prompt_version"], declared=True)
    return [
        labels.models[request["model"]],
        labels.customers[request["customer"]],
        labels.paths[request["path"]],
        version,
    ]


def test_case_67() -> None:
    """Typos, strangers and scanners get no series of their own."""
    labels = case_labels()
    assert [case_tuple(labels, request) for request in CASE["input"]["requests"]] == CASE["expected"]["labels"]


@given(st.lists(st.fixed_dictionaries({name: st.text() for name in CASE["input"]["requests"][0]})))
def test_case_67_series_bound(requests: list[dict[str, str]]) -> None:
    """Hostile requests make at most the product of the configured sizes plus one each."""
    labels = case_labels()
    configured = CASE["input"]["configured"]
    sizes = [len(configured[name]) + 1 for name in ("models", "customers", "routes")]
    seen = {tuple(case_tuple(labels, request)) for request in requests}
    assert len(seen) <= math.prod(sizes) * (configured["max_prompt_versions"] + 1)


def test_configured_customers_are_exactly_those() -> None:
    """With customers configured everyone else is `other`, the anonymous too."""
    labels = Labels(customers=["acme", "Bolt & Co"])
    found = [labels.customers[raw] for raw in ("acme", "Bolt & Co", "anonymous", "acme2", "acme")]
    assert found == ["acme", "Bolt & Co", OTHER, OTHER, "acme"]


def test_open_customers_are_first_come() -> None:
    """Without configured customers the first few names keep theirs; `anonymous` needs no place."""
    labels = Labels(max_customers=2)
    found = [labels.customers[raw] for raw in ("a", "b@x.org", "c", "anonymous", "a")]
    assert found == ["a", "b@x.org", OTHER, "anonymous", "a"]


@pytest.mark.parametrize("raw", HOSTILE)
def test_what_is_no_name_is_other(raw: str) -> None:
    """Free text, control characters and reserved words never become a label or take a place."""
    labels = Labels(max_customers=1, max_prompt_versions=1)
    assert labels.customers[raw] == OTHER
    assert labels.prompt_version("default", raw, declared=True) == OTHER
    assert [labels.prompt_version("default", raw, declared=False) for _ in range(30)] == [OTHER] * 30
    assert labels.customers["acme"] == "acme"
    assert labels.prompt_version("default", "v1", declared=True) == "v1"


def test_unknown_routes_are_the_default_route() -> None:
    """Routes come from the configuration, else the default route."""
    labels = Labels(["chat"], default_route="main")
    assert [labels.routes[raw] for raw in ("chat", "main", "nope")] == ["chat", "main", "main"]
    assert Labels().routes["chat"] == "default"


def test_unknown_paths_are_unmatched() -> None:
    """A scanner's paths are one label."""
    labels = Labels()
    assert labels.paths["/v1/messages"] == "/v1/messages"
    assert labels.paths["/wp-admin.php"] == UNMATCHED


def test_automatic_version_needs_twenty_requests() -> None:
    """An automatic version is `other` for 20 requests and a label from then on."""
    labels = Labels()
    found = [labels.prompt_version("default", "ab12", declared=False) for _ in range(22)]
    assert found == [OTHER] * 20 + ["ab12"] * 2


def test_declared_version_is_a_label_at_once() -> None:
    """What a client or the configuration names needs no proof; None is `unversioned`."""
    labels = Labels()
    assert labels.prompt_version("default", "2026-10-01", declared=True) == "2026-10-01"
    assert labels.prompt_version("default", "2026-10-01", declared=False) == "2026-10-01"
    assert labels.prompt_version("default", None, declared=True) == UNVERSIONED
    assert labels.prompt_version("default", None, declared=False) == UNVERSIONED


def test_versions_are_bounded_per_route() -> None:
    """One route's versions do not use up another's; the bound holds for declared and automatic ones together."""
    labels = Labels(["a", "b"], max_prompt_versions=2, promote_after=1)
    assert [labels.prompt_version("a", raw, declared=True) for raw in ("v1", "v2", "v3")] == ["v1", "v2", OTHER]
    assert [labels.prompt_version("a", "auto", declared=False) for _ in range(3)] == [OTHER] * 3
    assert labels.prompt_version("b", "v3", declared=True) == "v3"
    assert [labels.prompt_version("b", "auto", declared=False) for _ in range(3)] == [OTHER, "auto", "auto"]


def test_a_flood_of_automatic_versions_does_not_hide_a_real_one() -> None:
    """A version seen now and then among one-off ones still becomes a label; the one-off ones never do."""
    labels = Labels()
    for n in range(2100):
        noise = labels.prompt_version("default", f"noise{n}", declared=False)
        assert noise == OTHER
        if n % 100 == 0:
            real = labels.prompt_version("default", "real", declared=False)
    assert real == "real"


def test_rare_versions_are_forgotten() -> None:
    """The table of waiting versions has a fixed size: one not seen for long starts over."""
    labels = Labels(promote_after=2)
    for round_ in range(5):
        assert labels.prompt_version("default", "rare", declared=False) == OTHER
        for n in range(1100):
            labels.prompt_version("default", f"noise{round_}x{n}", declared=False)


def test_junk_does_not_crowd_out_waiting_versions() -> None:
    """What can never be a label is not counted, so it makes no waiting version start over."""
    labels = Labels(promote_after=1)
    assert labels.prompt_version("default", "rare", declared=False) == OTHER
    for n in range(1100):
        labels.prompt_version("default", f"junk {n}", declared=False)
    assert labels.prompt_version("default", "rare", declared=False) == "rare"


def test_models_are_learned_from_engines() -> None:
    """Models are `other` until configured or reported by an engine, and bounded."""
    labels = Labels(models=["m1"], max_models=3)
    assert labels.models["Qwen/Qwen3"] == OTHER
    labels.learn_models(["Qwen/Qwen3", "bad\nname", "x" * 200, "/models/llama", "fourth"])
    found = [labels.models[raw] for raw in ("m1", "Qwen/Qwen3", "/models/llama", "fourth", "bad\nname")]
    assert found == ["m1", "Qwen/Qwen3", "/models/llama", OTHER, OTHER]


@given(st.sets(st.text()), st.lists(st.text() | st.sampled_from(["a", "b", "c", "d"])), st.integers(0, 3))
def test_admitted_never_exceeds_its_room(known: set[str], raws: list[str], room: int) -> None:
    """Whatever comes: known values stay, at most `room` are added, and an admitted value never changes."""
    admitted = Admitted(known, room=room)
    first = {raw: admitted[raw] for raw in raws}
    assert {value for value in first.values() if value != OTHER} <= known | set(raws)
    assert known <= set(admitted)
    assert len(admitted) <= len(known) + room
    assert all(admitted[raw] == label for raw, label in first.items() if label == raw)
