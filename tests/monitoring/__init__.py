"""What examples/monitoring promises, shown by a real Prometheus."""
