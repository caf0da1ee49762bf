"""Commands about machines, sizes and designs that were not run."""
