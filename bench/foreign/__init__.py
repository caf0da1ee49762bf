"""Programs in the style of code that others wrote: what recording them costs."""
