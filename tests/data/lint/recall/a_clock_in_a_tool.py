# PC404: a clock in a tool
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

from datetime import date, datetime


def tools():
    return [
        {
            "type": "function",
            "function": {
                "name": "book",
                "description": f"Books. It is {datetime.now().isoformat()}.",  # here
                "parameters": {},
            },
        }
    ]


def ask(client, messages):
    return client.chat.completions.create(model="m", messages=messages, tools=tools())
