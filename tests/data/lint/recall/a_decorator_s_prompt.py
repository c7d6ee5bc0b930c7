# PC101: a decorator's prompt
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

from datetime import datetime
from pydantic_ai import Agent

agent = Agent("openai:gpt-4o", deps_type=str)

@agent.system_prompt
def rules(ctx) -> str:
    lines = [f"The time is {datetime.now():%H:%M}."]  # here
    lines.append(POLICY)
    return "\n".join(lines)
