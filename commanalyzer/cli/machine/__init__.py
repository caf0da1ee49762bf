"""Commands about machines, and what bounds a result on them."""
