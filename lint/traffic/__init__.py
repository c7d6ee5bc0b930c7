"""What a log of requests lost to prompts that part early: template by template, cause by cause."""
