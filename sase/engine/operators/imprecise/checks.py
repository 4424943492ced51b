"""HAVING and RETURN of matches of imprecise time, with their confidence."""

from __future__ import annotations

from typing import Any

import numpy as np

from sase.engine.kernels.confidence.candidate_checks import evaluate_candidates, select_candidates
from sase.engine.kernels.kleene.run_nodes import HEAD
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.bindings.candidates import CandidateBindings
from sase.engine.operators.kleene.series_negation import SeriesCheck


class CandidateCheck(SeriesCheck):
    """Evaluates terms on finished matches and their confidence."""

    select = staticmethod(select_candidates)
    evaluate = staticmethod(evaluate_candidates)

    def _arrays(self, found: CandidateBindings) -> Any:
        word = self.program.code.confidence
        bits = np.ascontiguousarray(found.confidences).view(np.int64)
        return (*super()._arrays(found), word if word == NOTHING else HEAD + word, bits)
