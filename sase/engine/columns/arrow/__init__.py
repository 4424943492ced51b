"""Arrow tables as a caller gives them: opened, proved, cut, and saved."""
