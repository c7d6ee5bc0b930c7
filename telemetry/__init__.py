"""What happened, counted: one catalog of metrics, plain-integer aggregates, exporters at the edge."""
