"""What breaks a prefix cache, found in source code, templates and traffic."""
