"""Building and running of the instrumented program."""
