"""What every stage uses and what knows no stage.

Files, documents, quantities, compiled loops, progress.
"""
