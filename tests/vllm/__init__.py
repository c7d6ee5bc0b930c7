"""Real vLLM: `make test-vllm`. Not in CI, which has no time for a second engine of 1.8 GB."""
