"""Decides what to insert into a program's IR so that it records its value flows, and inserts it."""
