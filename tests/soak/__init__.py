"""The soak: hours of traffic in minutes, with faults and clients that leave, and what must be left afterwards."""
