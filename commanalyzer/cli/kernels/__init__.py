"""Commands about kernels: features, patterns, tasks, speedups, designs of blocks."""
