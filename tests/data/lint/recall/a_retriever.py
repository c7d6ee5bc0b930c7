# PC202: a retriever
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

def ask(client, retriever, q):
    docs = retriever.invoke(q)
    context = "\n".join(d.page_content for d in docs)  # here
    return client.chat.completions.create(
        model="m",
        messages=[
            {"role": "system", "content": f"Context:\n{context}\n\n{POLICY}"},
            {"role": "user", "content": q},
        ],
    )
