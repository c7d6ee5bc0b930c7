"""The same retrieved documents stand in another order."""

from lint.examples import HANDBOOK, asked, chat, log
from lint.rule import Rule
from lint.traffic.checks import losses

_NOTES = {
    "a": "Parcels to islands take two days longer, and are handed over at the harbour office only.\n",
    "b": "Shoes that were worn outside are taken back for half of the price within fourteen days.\n",
    "c": "A voucher is valid for three years from the end of the year in which it was bought.\n",
    "d": "Gift wrapping is free in December and costs two euros per parcel in all other months.\n",
}
_QUESTION = "What does it say about parcels?"


def _documents(order: str) -> str:
    return "Documents:\n" + "".join(_NOTES[key] for key in order) + HANDBOOK


def _tagged(order: str) -> str:
    return "Context:\n" + "".join(f"<document>{_NOTES[key]}</document>\n" for key in order)


RULE = Rule(
    code="PC204",
    name="document-order",
    severity="warning",
    summary="The same retrieved documents stand in another order.",
    why=(
        "A search ranks the same documents otherwise for each question. The prompts then part at the first document, "
        "though all that they say was computed before."
    ),
    instead=(
        "Choose documents by rank, then write them in an order of their own (by id, oldest first), so that a "
        "set that comes again is a prefix that comes again."
    ),
    since="0.1.0",
    checks=(losses("document_order", severity="warning"),),
    bad=(
        asked(*(_documents(order) for order in ("abcd", "cadb", "dbac", "bdca"))),
        log(*(chat("Be brief.", f"{_tagged(order)}\n{_QUESTION}") for order in ("abcd", "dcba", "badc", "cdab"))),
        log(*({"model": "m", "prompt": _documents(order) + _QUESTION} for order in ("abcd", "bcda", "cdab", "dabc"))),
    ),
    good=(
        asked(*[_documents("abcd")] * 4),
        log(*(chat(HANDBOOK, f"{_tagged(order)}\n{_QUESTION}") for order in ("a", "b", "c", "d"))),
        log(*(chat("Be brief.", f"{_tagged('abcd')}\n{question}") for question in ("One?", "Two?", "Three?"))),
    ),
)
