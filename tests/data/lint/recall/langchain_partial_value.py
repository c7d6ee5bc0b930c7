# PC101: LangChain partial value
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

from datetime import datetime
from langchain_core.prompts import ChatPromptTemplate

prompt = ChatPromptTemplate.from_messages([("system", "It is {header}. " + POLICY), ("human", "{question}")])

def ask(chain, question):
    filled = prompt.partial(header=datetime.now().isoformat())  # here
    return (filled | chain).invoke({"question": question})
