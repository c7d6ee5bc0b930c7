# PC107: settings hold an id of the process
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

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
