"""The formats of files, a file each."""
