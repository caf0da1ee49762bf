"""Commands about one program, and about results beside each other."""
