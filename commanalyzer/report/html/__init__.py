"""Results as one self-contained page: sections of blocks, rendered by templates; figures as files."""
