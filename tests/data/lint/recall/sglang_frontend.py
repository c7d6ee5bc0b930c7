# PC103: SGLang frontend
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

import uuid
import sglang as sgl

@sgl.function
def answer(s, question):
    s += sgl.system(f"Request {uuid.uuid4()}\n" + POLICY)  # here
    s += sgl.user(question)
    s += sgl.assistant(sgl.gen("answer", max_tokens=256))
