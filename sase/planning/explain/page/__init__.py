"""The parts of the page of an explanation, beside its frame, style and script."""
