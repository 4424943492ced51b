"""The aggregates of users that a plan names, as they are when it is opened."""

from __future__ import annotations

from collections.abc import Mapping

from sase.binding.aggregates import UserAggregate, find, names
from sase.binding.bound import Aggregate
from sase.binding.functions import AGGREGATES
from sase.errors import PlanError
from sase.nearest import did_you_mean
from sase.planning.traversal import within


def user_aggregates(*parts: object) -> Mapping[str, UserAggregate]:
    """The aggregates that a plan names, or a `PlanError` for one that is not there, or is another.

    A plan holds of them the name and the kind, so that one may be opened where they are not.
    """
    found: dict[str, UserAggregate] = {}
    for each in within(parts):
        if not isinstance(each, Aggregate) or each.place or each.function in AGGREGATES:
            continue
        user = find(each.function)
        if user is None:
            hint = (*did_you_mean(each.function, names()), "")[0]
            raise PlanError(
                f"this plan has the aggregate `{each.function}`, which was not added here: do so"
                f" by  sase.aggregate({each.function!r}, …)  before it is opened"
                + (f"; {hint}" if hint else "")
            )
        if (len(each.attributes), each.type, each.trend) != (len(user.over), user.type, user.trend):
            raise PlanError(
                f"the aggregate `{each.function}` is not the one with which this plan was made:"
                " it has other attributes, another kind of value or another trend"
            )
        found[each.function] = user
    return found
