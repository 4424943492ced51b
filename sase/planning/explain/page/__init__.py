"""The parts of an explanation's page, besides its frame, style and script."""
