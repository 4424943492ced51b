"""Events cut into blocks, and the codes of their types, texts and keys."""
