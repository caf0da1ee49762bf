"""Classes and models of profiles as text, JSON and pages with figures."""
