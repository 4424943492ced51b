"""The rewrites: each returns a new plan, or the reason why it does not apply.

A rule is named like its file and its function. All are legal only for skip till any match, where
conditions merely select sequences, unless their entry says otherwise.
"""

from __future__ import annotations

from sase.planning.declined import Declined
from sase.planning.rewrites.build_composite_key import build_composite_key
from sase.planning.rewrites.contract import Outcome, Rewrite
from sase.planning.rewrites.derive_conditions import derive_conditions
from sase.planning.rewrites.enumerate_worlds import enumerate_worlds
from sase.planning.rewrites.evaluate_runs import evaluate_runs
from sase.planning.rewrites.filter_dynamically import filter_dynamically
from sase.planning.rewrites.filter_early import filter_early
from sase.planning.rewrites.index_negation_by_time import index_negation_by_time
from sase.planning.rewrites.index_tight_sequences import index_tight_sequences
from sase.planning.rewrites.infer_equivalence_tests import infer_equivalence_tests
from sase.planning.rewrites.join_by_tree import join_by_tree, join_runs
from sase.planning.rewrites.negate_before_selection import negate_before_selection
from sase.planning.rewrites.negate_before_window import negate_before_window
from sase.planning.rewrites.partition_on_every_attribute import partition_on_every_attribute
from sase.planning.rewrites.partition_stacks import partition_runs, partition_stacks
from sase.planning.rewrites.prune_by_confidence import prune_by_confidence
from sase.planning.rewrites.prune_by_match_windows import prune_by_match_windows
from sase.planning.rewrites.prune_columns import prune_columns
from sase.planning.rewrites.prune_overlaps import prune_overlaps
from sase.planning.rewrites.push_conditions_into_construction import (
    push_conditions_into_construction,
)
from sase.planning.rewrites.push_limit import push_limit
from sase.planning.rewrites.push_negation_into_construction import push_negation_into_construction
from sase.planning.rewrites.push_simple_conditions import (
    push_simple_conditions,
    push_simple_conditions_to_runs,
)
from sase.planning.rewrites.push_window_into_construction import push_window_into_construction
from sase.planning.rewrites.push_window_into_scan import push_window_into_scan
from sase.planning.rewrites.unfold_aggregates import (
    unfold_aggregates,
    unfold_aggregates_of_runs,
)
from sase.planning.rewrites.use_active_instance_stacks import use_active_instance_stacks
from sase.planning.rewrites.use_algorithm import use_algorithm

__all__ = ["REWRITES", "Declined", "Outcome", "Rewrite"]

# In the usual order of application, which is also the order of recipes.
_RULES = (
    Rewrite(infer_equivalence_tests),  # before the keys are chosen
    Rewrite(derive_conditions),  # uses inferred tests; before conditions are pushed
    Rewrite(evaluate_runs),  # replaces all stacks
    Rewrite(use_active_instance_stacks),  # needed by all later ones
    Rewrite(build_composite_key),  # one of these three applies
    Rewrite(partition_on_every_attribute),
    Rewrite(
        partition_stacks,
        of_runs=partition_runs,
        of_groups=True,
        of_sets=True,
        of_intervals=True,
    ),
    Rewrite(push_window_into_scan),
    Rewrite(push_window_into_construction),  # PER PARTITION: only where the key is its partition
    # Before simple conditions are pushed, since it creates some.
    Rewrite(unfold_aggregates, of_runs=unfold_aggregates_of_runs, of_intervals=True),
    Rewrite(
        push_simple_conditions,
        of_runs=push_simple_conditions_to_runs,
        of_groups=True,
        of_sets=True,
        of_intervals=True,
    ),
    Rewrite(filter_dynamically),  # the tests that the key does not decide
    Rewrite(push_conditions_into_construction),  # those that the key does not imply
    Rewrite(index_tight_sequences, of_runs=index_tight_sequences),
    # A negated start needs the window in construction; a negative group needs chains.
    Rewrite(push_negation_into_construction),
    Rewrite(index_negation_by_time, of_runs=index_negation_by_time),  # if not pushed
    Rewrite(negate_before_window),  # if not pushed
    Rewrite(negate_before_selection),
    # After the choice of the key and the conditions of construction.
    Rewrite(join_by_tree, of_runs=join_runs),
    Rewrite(push_limit),  # if construction decides everything
    # Uses the key; most algorithms then decline.
    Rewrite(prune_overlaps, of_runs=prune_overlaps, of_groups=True, of_sets=True),
    # After conditions are pushed; the one that stops at the first match also before the last rule.
    Rewrite(use_algorithm, of_runs=use_algorithm, of_sets=True),
    Rewrite(filter_early, of_runs=filter_early, of_intervals=True),  # the postponed conditions
    Rewrite(prune_by_confidence, of_runs=prune_by_confidence, of_intervals=True),
    Rewrite(enumerate_worlds, of_runs=enumerate_worlds, of_intervals=True),
    # Below the chosen evaluation, with its key.
    Rewrite(prune_by_match_windows, of_runs=prune_by_match_windows, of_sets=True),
    Rewrite(prune_columns, of_runs=prune_columns, of_groups=True, of_sets=True, of_intervals=True),
)
REWRITES: dict[str, Rewrite] = {rule.name: rule for rule in _RULES}
