# PC404: a user in a tool
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

from agents import registry


def tools_for(user):
    own = {
        "name": "orders",
        "description": f"Finds the orders of {user.full_name}.",  # here
        "parameters": {"type": "object", "properties": {}},
    }
    return [{"type": "function", "function": own}, *registry.TOOLS]


def ask(client, user, q):
    messages = [{"role": "system", "content": POLICY}, {"role": "user", "content": q}]
    return client.chat.completions.create(model="m", messages=messages, tools=tools_for(user))
