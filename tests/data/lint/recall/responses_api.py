# PC101: Responses API
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

from datetime import datetime
from openai import OpenAI

def run(client: OpenAI, question: str):
    now = datetime.now().astimezone()  # here
    return client.responses.create(
        model="gpt-4.1",
        instructions="\n".join([f"Local time: {now:%H:%M %Z}", POLICY]),
        input=[{"role": "user", "content": question}],
    )
