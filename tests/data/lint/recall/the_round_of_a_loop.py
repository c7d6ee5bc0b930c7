# PC106: the round of a loop
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

def run(client, goal, steps=10):
    history = []
    for step in range(steps):  # here
        system = f"Step {step + 1} of {steps}. {POLICY}"
        answer = client.chat.completions.create(
            model="m", messages=[{"role": "system", "content": system}, *history]
        )
        history.append({"role": "assistant", "content": answer})
