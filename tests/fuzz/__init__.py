"""Long-running searches for programs that behave differently with recording; not part of the test suite."""
