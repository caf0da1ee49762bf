"""Predictions as text and JSON: bounds, laws, projections, allocations, simulations, designs."""
