"""What the source calls things.

Debug information, who holds an address, names of symbols and of places.
"""
