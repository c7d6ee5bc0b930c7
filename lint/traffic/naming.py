"""A closer name for a loss, by what stands around the place: whose words they are decides which rule speaks of it.

That something was lost is known without a name (lint.traffic.engine); a name decides only between codes. So one look
at the first occurrence is enough, and what fits no name keeps the one it has. Cues are words of several languages.
"""

import re
from typing import Final

from lint.traffic.losses import WEAK, Loss
from prefix.realign import common_prefix

REACH: Final = 600
"""Code points before a place, and behind it, that are looked at."""
_NEAR: Final = 48
_LONGEST_NAME: Final = 80
_VOLATILE: Final = frozenset(
    ("clock", "date", "request_id", "attribution", "environment", "hostname", "signed_url", "counter")
)
_ADDRESS: Final = re.compile(r"<[\w.<>\[\], ]{1,100} at (?:0x)?[0-9a-fA-F]*\Z")
_USER: Final = re.compile(
    r"\b(?:users?|customers?|clients?|tenants?|accounts?|members?|patients?|students?|employees?|e-?mail|names?"
    r"|talking (?:to|with)|speaking (?:to|with)|chatting with|help(?:ing)?|assist(?:ing|ant of)?|hello|hi|dear"
    r"|(?:logged|signed) in|on behalf of|company|organi[sz]ation"
    r"|nutzer\w*|benutzer\w*|kund\w+|mitarbeiter\w*|utilisat\w+|usuari\w+|clientes?|utente|gebruiker|heißt)\b"
    r"|用户|用戶|客户|客戶|姓名|ユーザー?|お客様|様|고객|사용자|пользовател\w*|клиент\w*",
    re.IGNORECASE,
)
_RETRIEVED: Final = re.compile(
    r"(?:\b(?:contexts?|documents?|docs?|passages?|sources?|retrieved|search results?|knowledge(?: base)?|excerpts?"
    r"|snippets?|articles?|references?|chunks?|paragraphs?|kontext|dokumente?|quellen?|auszüge?|textstellen?"
    r"|contexte|extraits?|contexto|documentos?|fuentes?|fragmentos?|contesto|fonti)\b"
    r"|上下文|文档|文檔|资料|資料|检索|文脈|文書|検索結果|参考|документ\w*|контекст\w*)[^.\n]{0,40}[:：>\])\n]",
    re.IGNORECASE,
)
"""In a heading or a tag: a word that ends a line, or is followed by a colon or a bracket."""
_EXAMPLES: Final = re.compile(
    r"\b(?:examples?|few-?shot|demonstrations?|samples?|beispiele?|exemples?|ejemplos?|esempi)\b|示例|例",
    re.IGNORECASE,
)
_EMAIL: Final = re.compile(r"\S+@\S+\.\w+")


def closer(loss: Loss, *, one_set: bool, constant: bool) -> str | None:
    """The name of a loss's cause, the closest that fits; None when nothing could have been done about it.

    one_set, constant: of what comes again behind the difference (lint.traffic.tails).
    """
    before, after = _lead(loss), loss.around[1]
    if _ADDRESS.search(before):
        return "address_repr"
    if loss.pointer.startswith(("/tools", "/functions")):
        is_user = loss.kind == "tool_text" and _names_a_user(loss, before)
        return "volatile_tool_text" if loss.kind in _VOLATILE or is_user else loss.kind
    if loss.kind == "json_format" and loss.pointer.endswith("/arguments"):
        return None  # engines parse the arguments of a call before a template prints them
    if loss.kind == "text_order":
        return _order(loss, before + after[:_NEAR], one_set=one_set, constant=constant)
    if loss.kind in WEAK:
        return _whose(loss, before) if constant else None
    return loss.kind


def _lead(loss: Loss) -> str:
    """The text up to where the two values part."""
    a, b = loss.values
    same = common_prefix(a, b) if a is not None and b is not None else 0
    return loss.around[0] + (a or "")[:same]


def _order(loss: Loss, around: str, *, one_set: bool, constant: bool) -> str | None:
    """Examples are a choice of the author's; documents of the question's, so only their order and place are."""
    examples, retrieved = _last(_EXAMPLES, around), _last(_RETRIEVED, around)
    if retrieved > examples:
        return "document_order" if one_set else "retrieved_text" if constant else None
    return loss.kind if one_set or constant or _in_system(loss) else None


def _last(cue: re.Pattern[str], text: str) -> int:
    """Where the last cue ends, -1 for none."""
    return max((found.end() for found in cue.finditer(text)), default=-1)


def _in_system(loss: Loss) -> bool:
    return loss.pointer.startswith(("/system", "/instructions", "/messages/0/", "/input/0/"))


def _whose(loss: Loss, before: str) -> str:
    """The last cue before the place decides, a user's only for what is short enough to name one."""
    if _last(_RETRIEVED, before) > _last(_USER, before):
        return "retrieved_text"
    return "user_text" if _names_a_user(loss, before) else loss.kind


def _names_a_user(loss: Loss, before: str) -> bool:
    values = [value for value in loss.values if value]
    if not values or any(len(value) > _LONGEST_NAME or "\n" in value.strip() for value in values):
        return False
    return bool(_USER.search(before[-_NEAR:])) or bool(_EMAIL.match(loss.around[1].lstrip()))
