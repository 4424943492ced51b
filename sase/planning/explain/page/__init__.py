"""The parts of the page of an explanation; its frame, style and script are files beside this."""
