"""The address of a Python object stands in a prompt."""

import re
from collections.abc import Iterator

from lint.bodies import RequestBody
from lint.examples import HANDBOOK, QUESTIONS, asked, chat, log, one
from lint.rule import Check, Rule, Sighting
from lint.sources.examples import app
from lint.sources.flow import uses
from lint.traffic.checks import losses

_SHOP = "class Shop:\n    def __init__(self, name):\n        self.name = name"
_NAMED = _SHOP + "\n\n    def __str__(self):\n        return self.name"
_DATA = "from dataclasses import dataclass\n\n@dataclass\nclass Shop:\n    name: str"

_REPR = re.compile(r"<[\w.<>\[\], ]{1,100} at 0x[0-9a-fA-F]{4,16}>")


def _find(document: RequestBody) -> Iterator[Sighting]:
    for text in document.texts():
        found = _REPR.search(text.text) if text.prefix else None
        if found:
            yield Sighting(
                message=f"the address of an object in {text.pointer} at {found.start():,}",
                values=(found[0],),
                location=document.location,
                request=document.request,
                pointer=text.pointer,
                start=found.start(),
                end=found.end(),
            )


def _with(address: str, kind: str = "shop.Cart object") -> str:
    return f"The cart is <{kind} at {address}>.\n{HANDBOOK}"


RULE = Rule(
    code="PC306",
    name="address-repr",
    severity="error",
    summary="The address of a Python object stands in a prompt.",
    why=(
        "An object without a `__str__` of its own prints as `<Cart object at 0x7f3a...>`: another address in each "
        "process, and often in each request. It says nothing to a model, and the cache ends in front of it."
    ),
    instead="Print what was meant: a field of the object, or its JSON. Usually it is a bug beside the cache too.",
    since="0.1.0",
    checks=(uses("address"), losses("address_repr", severity="error"), Check(RequestBody, _find)),
    bad=(
        app("f'Shop: {shop}. {POLICY}'", imports=_SHOP, setup="shop = Shop('a')"),
        app("'Shop: ' + str(Shop(user)) + POLICY", imports=_SHOP),
        app("'Call {}. {}'.format(helper, POLICY)", imports="def helper(x):\n    return x"),
        app("f'{repr(lambda x: x)} {POLICY}'"),
        asked(*(_with(f"0x7f3a2c{at}d1e50") for at in range(4, 9))),
        asked(*(_with(f"0x10{at}8f0", "function price") for at in range(10, 15))),
        one(chat(_with("0x7f3a2c4d1e50"))),
        one(
            chat("Be brief.", tools=[{"name": "t", "description": "Uses <bound method Cart.sum of 7 at 0x7f3a2c4d>"}])
        ),
        asked(*(f"Tools: [<Tool object at 0x7f{at * 7919:010x}>]\n{HANDBOOK}" for at in range(1, 6))),
        one({"model": "m", "system": f"Use <function price at 0x7f3a2c4d1e50>.\n{HANDBOOK}", "messages": []}),
    ),
    good=(
        app("f'Shop: {shop}. {POLICY}'", imports=_NAMED, setup="shop = Shop('a')"),
        app("f'Shop: {shop}. {POLICY}'", imports=_DATA, setup="shop = Shop(name='a')"),
        app("f'Shop: {shop.name}. {POLICY}'", imports=_SHOP, setup="shop = Shop('a')"),
        app("f'{helper(q)} {POLICY}'", imports="def helper(x):\n    return 'Be brief.'"),
        asked(*[_with("0x7f3a2c4d1e50")] * 4),
        log(*(chat(HANDBOOK, f"Why <Cart object at 0x7f3a2c{at}d1e50>?") for at in range(4, 9))),
        one(chat(f"Registers begin at 0x40 and end at 0x7f.\n{HANDBOOK}")),
        asked(*(f"{HANDBOOK}\n{_with('0x7f3a2c4d1e50')}" for _ in range(4))),
        log(*(chat(HANDBOOK, question) for question in QUESTIONS)),
        one(chat(HANDBOOK, "What is <Cart object at 0x7f3a2c4d1e50>?")),
        one(chat(f"Say <unknown> at 0 degrees.\n{HANDBOOK}")),
    ),
)
