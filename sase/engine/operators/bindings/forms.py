"""What the matches of a plan hold beside their events, where that is more than lengths."""

from __future__ import annotations

from collections.abc import Sequence

from sase.binding.bound import BoundComponent
from sase.engine.operators.bindings.candidates import CandidateForm
from sase.engine.operators.bindings.groups import IterationForm
from sase.engine.operators.bindings.sets import SetForm
from sase.planning.physical.forms import BindingForm


def opened_form(
    form: BindingForm, components: Sequence[BoundComponent]
) -> IterationForm | SetForm | CandidateForm | None:
    """The form of matches with repeated groups or sets, or of imprecise time; None of others."""
    match form:
        case BindingForm.CANDIDATES:
            return CandidateForm(len(components))
        case BindingForm.SETS | BindingForm.DETECTED_SETS:
            return SetForm(len(components), form is BindingForm.DETECTED_SETS)
        case BindingForm.ITERATIONS:
            return IterationForm.of(components)
        case _:
            return None
