"""All that knows the insides of Numba and LLVM."""
