"""What the work items of a kernel access: words of memory, buffers, what lies outside of kernels."""
