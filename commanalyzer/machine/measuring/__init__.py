"""The measurement of a machine: campaign, timed kernels, raw timings, summaries."""
