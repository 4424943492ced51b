"""Events cut into blocks, and dictionaries of their types, texts and keys."""
