"""What users' programs do, once: run against an engine and against the gateway, and compared word for word."""
