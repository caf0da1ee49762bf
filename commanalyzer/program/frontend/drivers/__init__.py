"""Drop-in compilers: they build the normal program and embed its LLVM IR for a later analysis.

Every object file carries the bitcode of its source in a section of its own (``.commanalyzer``); linkers
concatenate sections of one name, so archives, shared objects and the executable know all their bitcode.
The bitcode itself is embedded, not a path to it (as wllvm does): objects stay complete when a build tree is
moved, when temporary files of the build are deleted, and when ccache hands out an object of another tree.
"""
