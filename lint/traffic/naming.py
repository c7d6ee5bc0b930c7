"""A closer name for a loss, by what stands around the place: whose words they are decides which rule speaks of it.

That something was lost is known without a name (lint.traffic.engine); a name decides only between codes. So one look
at the first occurrence is enough, and what fits no name keeps the one it has. Cues are words of several languages.
"""

import re
from typing import Final

from lint.traffic.losses import WEAK, Loss

REACH: Final = 240
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
    r"\b(?:contexts?|documents?|docs?|passages?|sources?|retrieved|search results?|knowledge(?: base)?|excerpts?"
    r"|snippets?|articles?|references?|chunks?|paragraphs?|kontext|dokumente?|quellen?|auszüge?|textstellen?"
    r"|contexte|extraits?|contexto|documentos?|fuentes?|fragmentos?|contesto|fonti)\b"
    r"|上下文|文档|文檔|资料|資料|检索|文脈|文書|検索結果|参考|문서|документ\w*|контекст\w*",
    re.IGNORECASE,
)
_EXAMPLES: Final = re.compile(
    r"\b(?:examples?|few-?shot|demonstrations?|Q|A|question|answer|input|output|user|assistant|beispiele?|exemples?"
    r"|ejemplos?|frage|antwort)\b ?\d*\s*:|示例|例子?[::]|[问答][::]",
    re.IGNORECASE,
)
_EMAIL: Final = re.compile(r"\S+@\S+\.\w+")


def closer(loss: Loss) -> str:
    """The name of a loss's cause, the closest that fits."""
    before, after = loss.around
    if _ADDRESS.search(before):
        return "address_repr"
    if loss.pointer.startswith(("/tools", "/functions")):
        is_user = loss.kind == "tool_text" and _names_a_user(loss, before)
        return "volatile_tool_text" if loss.kind in _VOLATILE or is_user else loss.kind
    if loss.kind == "text_order" and _RETRIEVED.search(before + after) and not _EXAMPLES.search(before + after):
        return "document_order"
    if loss.kind in WEAK:
        return _whose(loss, before)
    return loss.kind


def _whose(loss: Loss, before: str) -> str:
    """The last cue before the place decides, a user's only for what is short enough to name one."""
    retrieved = max((found.end() for found in _RETRIEVED.finditer(before)), default=-1)
    user = max((found.end() for found in _USER.finditer(before)), default=-1)
    if retrieved > user:
        return "retrieved_text"
    return "user_text" if _names_a_user(loss, before) else loss.kind


def _names_a_user(loss: Loss, before: str) -> bool:
    values = [value for value in loss.values if value]
    if not values or any(len(value) > _LONGEST_NAME or "\n" in value.strip() for value in values):
        return False
    return bool(_USER.search(before[-_NEAR:])) or all(_EMAIL.fullmatch(value.strip()) for value in values)
