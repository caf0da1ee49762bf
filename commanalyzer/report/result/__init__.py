"""Results of programs as text, JSON and files of other tools."""
