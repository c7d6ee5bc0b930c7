# PC101: a prompt of a file
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

from pathlib import Path
from datetime import datetime

PROMPT = (Path(__file__).parent / "system.md").read_text()


def ask(client, q):
    return client.chat.completions.create(
        model="m",
        messages=[
            {"role": "system", "content": f"{datetime.now():%H:%M}\n" + PROMPT},  # here
            {"role": "user", "content": q},
        ],
    )
