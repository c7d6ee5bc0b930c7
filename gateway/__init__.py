"""One request, from socket to engine and back."""
