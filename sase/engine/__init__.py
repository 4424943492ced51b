"""What touches events: so far only the schemas of files."""
