"""State that several gateways share, whatever carries it: messages, what is told (outbox), what is learned (inbox).

The copy in each process is authoritative for its requests: nothing here waits for anybody.
"""
