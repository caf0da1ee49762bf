"""Operations of a program: how often blocks run, what they count for, and which site they serve."""
