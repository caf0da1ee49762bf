"""Results of programs on a terminal: tables that fit its width, and their JSON documents."""
