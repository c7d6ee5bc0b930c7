# PC101: LlamaIndex
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

from datetime import datetime
from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.llms.openai import OpenAI

llm = OpenAI(model="gpt-4o")

def ask(question):
    stamp = datetime.utcnow().isoformat(timespec="seconds")  # here
    system = ChatMessage(role=MessageRole.SYSTEM, content="Time: " + stamp + "\n" + POLICY)
    return llm.chat([system, ChatMessage(role=MessageRole.USER, content=question)])
