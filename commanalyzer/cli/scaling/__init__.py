"""Commands about other sizes and numbers of nodes."""
