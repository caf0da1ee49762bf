"""The graph as it is kept: columns coded by pattern, expanded only where somebody looks."""
