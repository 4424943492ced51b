"""What touches events: columns from Arrow, and the schemas of files."""
