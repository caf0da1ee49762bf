"""Features, patterns, tasks, speedups and designs as text, drawings and files."""
