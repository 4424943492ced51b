"""A first real query: who left the shop with an item without passing the counter?"""

from __future__ import annotations

import sase
from sase.generate import retail_events

QUERY = """
EVENT SEQ(SHELF-READING x, !(COUNTER-READING y), EXIT-READING z)
WHERE [tag_id] WITHIN 12 hours
RETURN x.tag_id, x.ts AS picked_at, z.ts AS left_at
"""


def main() -> None:
    """Make a day of readings with thefts among them, and find them."""
    shop = retail_events(items=200_000, thefts=8)
    print(f"# {shop.table.num_rows:,} readings, among them {len(shop.stolen)} thefts\n{QUERY}")
    plan = sase.compile(QUERY, shop.table)
    matches = plan.run(shop.table)
    print(matches)
    print("\n# The plan, from the result down to the events:\n")
    print(plan)
    found = set(matches.to_arrow().column("x_tag_id").to_pylist())
    if found != shop.stolen:
        raise SystemExit(f"the demo expected the thefts {shop.stolen} and found {found}")


if __name__ == "__main__":
    main()
