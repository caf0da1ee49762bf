"""Models of profiles, and profiles at other scales."""
