"""Library functions as the interpreter executes them, with what they do to labels."""
