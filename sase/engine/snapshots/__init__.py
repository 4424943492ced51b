"""What snapshots are made of: state as bytes, checked as it is read, and the forms of releases."""
