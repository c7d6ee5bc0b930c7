"""What a prompt is: its canonical bytes, its blocks, where two prompts part, and who holds which blocks."""
