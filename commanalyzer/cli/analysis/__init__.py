"""Commands about one program: what it would send, and why."""
