"""Parameters of the machine that a program shall run on."""
