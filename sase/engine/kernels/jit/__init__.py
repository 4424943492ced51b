"""All code that depends on the internals of Numba and LLVM."""
