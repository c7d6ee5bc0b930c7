# PC101: Jinja in Python
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

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
