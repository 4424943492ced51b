"""(NG, 3.3) Index the events of negative components by time alone, not by key.

A sequence then examines every event in its gap, of any key, from the last back:

    by key      1: n3 n9    2: n5 n7        a2 (1) … b8 (1) looks at n3 alone
    by time     n3 n5 n7 n9                 it looks at n7, n5 and n3; nothing was hashed
"""

from __future__ import annotations

from dataclasses import replace

from sase.binding.bound import WindowKind
from sase.planning.declined import Declined
from sase.planning.plan.nodes import Negation, Operator, exchanged, find
from sase.planning.rewrites.contract import Outcome


def index_negation_by_time(plan: Operator) -> Outcome:
    """It pays if gaps are short or keys few, and no other operator needs the key."""
    negation = find(plan, Negation)
    if negation is None:
        return Declined("there is no negative component to decide")
    if negation.by_time:
        return Declined("the index is by time already")
    if negation.window is not None and negation.window.kind is WindowKind.PARTITION_EVENTS:
        return Declined("a window that counts in partitions is not in order of time")
    tests = [test for each in negation.negations for test in each.equivalences]
    if not any(test.value is None and all(test.declared) for test in tests):
        return Declined("there is no key, so the index is by time as it is")
    return exchanged(plan, replace(negation, by_time=True))
