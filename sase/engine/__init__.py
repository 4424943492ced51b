"""Load events as columns, and run plans on them."""

from sase.base.limits import require_addresses

require_addresses()  # before any part of it imports NumPy or Arrow
