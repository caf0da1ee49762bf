"""What every room uses and what knows no room: errors, files, documents, quantities, progress.

In: nothing of the package. Out: small types and functions. Everybody may import it.
"""
