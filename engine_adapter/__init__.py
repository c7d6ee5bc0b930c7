"""What each engine speaks: usage, event streams, load reports. One file per engine kind."""
