"""Code as application engineers write it, with one fault each: found by its rule, and at its line."""

import pytest

from lint.linter import lint_text

HEAD = 'POLICY = "Refunds are allowed within thirty days of delivery. " * 200\n'
SNIPPETS: dict[str, tuple[str, str]] = {
    "a helper class keeps the time": (
        "PC101",
        r"""
from datetime import datetime, timezone
from openai import AsyncOpenAI

class Clock:
    def __init__(self, tz=timezone.utc):
        self.tz = tz

    def text(self) -> str:
        return datetime.now(self.tz).strftime("%A, %d %B %Y %H:%M")  # here

class SupportAgent:
    def __init__(self, client: AsyncOpenAI):
        self.client = client
        self.clock = Clock()

    def _system(self) -> str:
        return f"Current time: {self.clock.text()}\n\n{POLICY}"

    async def answer(self, history, question):
        messages = [{"role": "system", "content": self._system()}, *history, {"role": "user", "content": question}]
        return await self.client.chat.completions.create(model="gpt-4o", messages=messages)
""",
    ),
    "settings hold an id of the process": (
        "PC107",
        r"""
import uuid
from pydantic import Field
from pydantic_settings import BaseSettings
from openai import OpenAI

class Settings(BaseSettings):
    model: str = "gpt-4o"
    instance: str = Field(default_factory=lambda: uuid.uuid4().hex)  # here

settings = Settings()
client = OpenAI()

def ask(question: str) -> str:
    system = f"[{settings.instance}] You are a support agent.\n{POLICY}"
    return client.responses.create(model=settings.model, instructions=system, input=question).output_text
""",
    ),
    "LangChain partial variables": (
        "PC101",
        r"""
from datetime import datetime
from langchain_core.prompts import ChatPromptTemplate

def build():
    prompt = ChatPromptTemplate.from_messages([
        ("system", "It is {header}. " + POLICY),
        ("human", "{question}"),
    ])
    return prompt.partial(header=lambda: datetime.now().isoformat())  # here
""",
    ),
    "LangChain partial value": (
        "PC101",
        r"""
from datetime import datetime
from langchain_core.prompts import ChatPromptTemplate

prompt = ChatPromptTemplate.from_messages([("system", "It is {header}. " + POLICY), ("human", "{question}")])

def ask(chain, question):
    filled = prompt.partial(header=datetime.now().isoformat())  # here
    return (filled | chain).invoke({"question": question})
""",
    ),
    "LlamaIndex": (
        "PC101",
        r"""
from datetime import datetime
from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.llms.openai import OpenAI

llm = OpenAI(model="gpt-4o")

def ask(question):
    stamp = datetime.utcnow().isoformat(timespec="seconds")  # here
    system = ChatMessage(role=MessageRole.SYSTEM, content="Time: " + stamp + "\n" + POLICY)
    return llm.chat([system, ChatMessage(role=MessageRole.USER, content=question)])
""",
    ),
    "SGLang frontend": (
        "PC103",
        r"""
import uuid
import sglang as sgl

@sgl.function
def answer(s, question):
    s += sgl.system(f"Request {uuid.uuid4()}\n" + POLICY)  # here
    s += sgl.user(question)
    s += sgl.assistant(sgl.gen("answer", max_tokens=256))
""",
    ),
    "requests": (
        "PC101",
        r"""
import time
import requests

def complete(url, question):
    body = {
        "model": "qwen",
        "messages": [
            {"role": "system", "content": f"epoch={int(time.time())}\n{POLICY}"},  # here
            {"role": "user", "content": question},
        ],
    }
    return requests.post(f"{url}/v1/chat/completions", json=body, timeout=30).json()
""",
    ),
    "aiohttp": (
        "PC106",
        r"""
import json
import os
import aiohttp

async def complete(session: aiohttp.ClientSession, base: str, question: str):
    payload = {"model": "qwen", "messages": []}
    payload["messages"].append({"role": "system", "content": "cwd: %s\n%s" % (os.getcwd(), POLICY)})  # here
    payload["messages"].append({"role": "user", "content": question})
    async with session.post(base + "/v1/chat/completions", data=json.dumps(payload)) as response:
        return await response.json()
""",
    ),
    "Responses API": (
        "PC101",
        r"""
from datetime import datetime
from openai import OpenAI

def run(client: OpenAI, question: str):
    now = datetime.now().astimezone()  # here
    return client.responses.create(
        model="gpt-4.1",
        instructions="\n".join([f"Local time: {now:%H:%M %Z}", POLICY]),
        input=[{"role": "user", "content": question}],
    )
""",
    ),
    "Anthropic blocks": (
        "PC103",
        r"""
import secrets
import anthropic

def run(question, client=anthropic.Anthropic()):
    header = {"type": "text", "text": f"trace-id: {secrets.token_hex(8)}"}  # here
    rules = {"type": "text", "text": POLICY, "cache_control": {"type": "ephemeral"}}
    return client.messages.create(
        model="claude-sonnet-4-5", max_tokens=512, system=[header, rules],
        messages=[{"role": "user", "content": question}],
    )
""",
    ),
    "Jinja in Python": (
        "PC101",
        r"""
from datetime import datetime
from jinja2 import Template
from openai import OpenAI

SYSTEM = Template("Today is {{ now }}.\n{{ policy }}\n" + POLICY)

def ask(client: OpenAI, question: str):
    system = SYSTEM.render(now=datetime.now(), policy="Be brief.")  # here
    return client.chat.completions.create(
        model="gpt-4o",
        messages=[{"role": "system", "content": system}, {"role": "user", "content": question}],
    )
""",
    ),
    "string.Template": (
        "PC101",
        r"""
import string
import time
import litellm

_SYSTEM = string.Template("Server time $now\n" + POLICY)

def ask(question):
    return litellm.completion(
        model="gpt-4o",
        messages=[
            {"role": "system", "content": _SYSTEM.safe_substitute(now=time.strftime("%X"))},  # here
            {"role": "user", "content": question},
        ],
    )
""",
    ),
    "tools in any order": (
        "PC401",
        r"""
import random
from openai import OpenAI

TOOLS = [{"type": "function", "function": {"name": name}} for name in ("order", "parcel", "refund")]

def ask(client: OpenAI, messages):
    tools = list(TOOLS)
    random.shuffle(tools)  # here
    return client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools)
""",
    ),
    "tools of a set": (
        "PC305",
        r"""
from openai import OpenAI

REGISTRY = {name: {"type": "function", "function": {"name": name}} for name in ("order", "parcel", "refund")}

class Agent:
    def __init__(self, client: OpenAI, enabled):
        self.client = client
        self.enabled = set(enabled) | {"order"}  # here

    def tools(self):
        return [REGISTRY[name] for name in self.enabled]

    def ask(self, messages):
        return self.client.chat.completions.create(model="gpt-4o", messages=messages, tools=self.tools())
""",
    ),
    "presigned picture": (
        "PC701",
        r"""
import boto3
from openai import OpenAI

s3 = boto3.client("s3")

def describe(client: OpenAI, key: str, question: str):
    url = s3.generate_presigned_url("get_object", Params={"Bucket": "b", "Key": key}, ExpiresIn=600)  # here
    content = [
        {"type": "text", "text": question},
        {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
    ]
    return client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": content}])
""",
    ),
    "the last ten turns": (
        "PC501",
        r"""
MAX_TURNS = 10

class Session:
    def __init__(self, client):
        self.client = client
        self.history = []

    def ask(self, question):
        self.history.append({"role": "user", "content": question})
        window = self.history[-MAX_TURNS:]  # here
        return self.client.chat.completions.create(
            model="gpt-4o", messages=[{"role": "system", "content": POLICY}] + window
        )
""",
    ),
    "compaction in place": (
        "PC502",
        r"""
class Loop:
    def __init__(self, client):
        self.client = client
        self.messages = [{"role": "system", "content": POLICY}]

    def compact(self):
        for message in self.messages[:-6]:
            if message["role"] == "tool" and len(message["content"]) > 2000:
                message["content"] = message["content"][:200] + " [truncated]"  # here

    def step(self):
        self.compact()
        return self.client.chat.completions.create(model="gpt-4o", messages=self.messages)
""",
    ),
    "a decorator's prompt": (
        "PC101",
        r"""
from datetime import datetime
from pydantic_ai import Agent

agent = Agent("openai:gpt-4o", deps_type=str)

@agent.system_prompt
def rules(ctx) -> str:
    lines = [f"The time is {datetime.now():%H:%M}."]  # here
    lines.append(POLICY)
    return "\n".join(lines)
""",
    ),
    "a message list that is extended": (
        "PC104",
        r"""
from dataclasses import dataclass

@dataclass
class Customer:
    name: str
    plan: str

def build_messages(customer: Customer, question: str):
    system = "You are talking to " + customer.name + ".\n"  # here
    system += POLICY
    messages = [dict(role="system", content=system)]
    messages += [dict(role="user", content=question)]
    return messages

def ask(client, customer, question):
    return client.chat.completions.create(model="m", messages=build_messages(customer, question))
""",
    ),
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_recall(name: str) -> None:
    """One error or warning, of this rule and at this line."""
    code, text = SNIPPETS[name]
    text = HEAD + text
    row = next(at for at, line in enumerate(text.split("\n"), 1) if line.endswith("# here"))
    found = [
        (finding.code, finding.location and finding.location.row)
        for finding in lint_text("app.py", text)
        if finding.severity != "info"
    ]
    assert found == [(code, row)]
