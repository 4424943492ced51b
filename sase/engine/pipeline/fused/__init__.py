"""Physical operators that do the work of several by one kernel."""
