"""Options that commands share, and how commands show and save what they made."""
