"""lint.traffic.naming: a closer name for a loss, by the text around it."""

import pytest

from lint.traffic.losses import Loss
from lint.traffic.naming import closer

DOCUMENTS = ("Use these documents:\n", "Shoes that were worn outside are taken back.")
EXAMPLES = ("Examples:\n", "Q: Where is it? A: On its way.")


def loss(
    kind: str, before: str, values: tuple[str | None, str | None] = ("Ada", "Bob"), *, after: str = "", at: str = ""
) -> Loss:
    return Loss(kind, 0, at or "/messages/0/content", len(before), values, 1, 2, around=(before, after))


@pytest.mark.parametrize(
    ("found", "name"),
    [
        (loss("system_text", "You are talking with "), "user_text"),
        (loss("text", "Customer: "), "user_text"),
        (loss("system_text", "Sie sprechen mit der Kundin "), "user_text"),
        (loss("system_text", "用户:", ("小明", "小红")), "user_text"),
        (loss("system_text", "Reply to ", ("ada", "bob"), after="bob@example.com now"), "user_text"),
        (loss("system_text", "Customer: ", ("x" * 90, "y")), "system_text"),
        (loss("system_text", "Customers come first. " + "Rule. " * 20), "system_text"),
        (loss("system_text", "Speak as in "), "system_text"),
        (loss("new_message", "Customer profile. Context:\n", ("Shoes", "Coats")), "retrieved_text"),
        (loss("system_text", "", ("<document>Shoes", "<document>Coats")), "retrieved_text"),
        (loss("system_text", "検索結果:\n", ("靴", "服")), "retrieved_text"),
        (loss("request_id", "Uses <app.Cart object at 0x7f", ("3a", "4b")), "address_repr"),
        (loss("request_id", "Uses id 0x7f", ("3a", "4b")), "request_id"),
        (loss("clock", "Now ", at="/tools/0/function/description"), "volatile_tool_text"),
        (loss("tool_text", "Orders of user ", at="/tools/0/description"), "volatile_tool_text"),
        (loss("tool_text", "Orders of ", at="/tools/0/description"), "tool_text"),
        (loss("text_order", EXAMPLES[0], after=EXAMPLES[1]), "text_order"),
        (loss("text_order", DOCUMENTS[0], after=DOCUMENTS[1]), "document_order"),
        (loss("text_order", ""), "text_order"),
        (loss("whitespace", "Customer: "), "whitespace"),
    ],
)
def test_closer(found: Loss, name: str) -> None:
    """Cues near the place, in several languages; what has a name of its own keeps it."""
    assert closer(found, one_set=True, constant=True) == name


def test_documents_of_a_question() -> None:
    """Other ones each time: their place is the fault when constant text stands behind, and nothing is when not."""
    found = loss("text_order", DOCUMENTS[0], after=DOCUMENTS[1])
    assert closer(found, one_set=False, constant=True) == "retrieved_text"
    assert closer(found, one_set=False, constant=False) is None
    assert closer(loss("new_message", "Context: "), one_set=False, constant=False) is None


def test_pieces_of_a_pool_in_the_newest_message() -> None:
    """With no constant text behind they may be the question's; in system text they are the author's choice."""
    at = "/messages/1/content"
    assert closer(loss("text_order", "", at=at), one_set=False, constant=False) is None
    assert closer(loss("text_order", ""), one_set=False, constant=False) == "text_order"
