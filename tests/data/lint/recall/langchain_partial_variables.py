# PC101: LangChain partial variables
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

from datetime import datetime
from langchain_core.prompts import ChatPromptTemplate

def build():
    prompt = ChatPromptTemplate.from_messages([
        ("system", "It is {header}. " + POLICY),
        ("human", "{question}"),
    ])
    return prompt.partial(header=lambda: datetime.now().isoformat())  # here
