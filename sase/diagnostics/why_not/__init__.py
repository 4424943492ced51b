"""Why a query finds no match, or so few: an explanation by relaxed queries."""
