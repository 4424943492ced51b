"""HAVING and RETURN of matches of imprecise time, with their confidence."""

from __future__ import annotations

import numpy as np

from sase.engine.kernels.kleene.run_nodes import HEAD
from sase.engine.kernels.runs.residual_checks import (
    Confidences,
    evaluate_candidates,
    select_candidates,
)
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.kleene.series_negation import SeriesCheck


class CandidateCheck(SeriesCheck):
    """Evaluates terms on finished matches and their confidence."""

    select = staticmethod(select_candidates)
    evaluate = staticmethod(evaluate_candidates)

    def confidences(self, bindings: Bindings) -> Confidences:
        """The confidences of the matches."""
        word = self.program.code.confidence
        bits = np.ascontiguousarray(bindings.confidences).view(np.int64)
        return Confidences(word if word == NOTHING else HEAD + word, bits)
