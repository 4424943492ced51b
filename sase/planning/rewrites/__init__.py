"""The rewrites by name: each takes a plan and gives a new one, or None where it does not apply.

A rule's name is that of its file and of its function. All of them are legal for skip till any match
alone, where conditions only choose among the sequences; a plan over RunEvaluation has no operator
that they look for, so there they do not apply.
"""

from __future__ import annotations

from collections.abc import Callable

from sase.planning.nodes import Operator
from sase.planning.rewrites.build_composite_key import build_composite_key
from sase.planning.rewrites.filter_dynamically import filter_dynamically
from sase.planning.rewrites.partition_on_every_attribute import partition_on_every_attribute
from sase.planning.rewrites.partition_stacks import partition_stacks
from sase.planning.rewrites.push_conditions_into_construction import (
    push_conditions_into_construction,
)
from sase.planning.rewrites.push_negation_into_construction import (
    push_negation_into_construction,
)
from sase.planning.rewrites.push_simple_conditions import push_simple_conditions
from sase.planning.rewrites.push_window_into_construction import push_window_into_construction
from sase.planning.rewrites.push_window_into_scan import push_window_into_scan
from sase.planning.rewrites.use_active_instance_stacks import use_active_instance_stacks

Rewrite = Callable[[Operator], Operator | None]

REWRITES: dict[str, Rewrite] = {
    rewrite.__name__: rewrite
    for rewrite in (
        use_active_instance_stacks,
        push_window_into_scan,
        push_window_into_construction,
        push_simple_conditions,
        partition_stacks,
        partition_on_every_attribute,
        build_composite_key,
        filter_dynamically,
        push_conditions_into_construction,
        push_negation_into_construction,
    )
}
