"""One module per rule; lint.registry finds them."""
