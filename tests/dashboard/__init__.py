"""The page itself, driven in Chromium against a live gateway."""
