"""Classes of threads."""
