"""The kernels of ``workloads/kernels``: what each is run with, and what its plain division sends."""
