"""What touches events: columns from Arrow, and the schemas of files."""

from sase.address_space import require_addresses

require_addresses()  # before anything of it imports NumPy or Arrow
