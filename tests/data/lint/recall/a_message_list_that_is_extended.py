# PC104: a message list that is extended
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

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
