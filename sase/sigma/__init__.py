"""Sigma's rules as scripts: detections become filters, correlations patterns over them.

`script_of` turns texts of YAML documents into the text of a script. What has no equal in the
language is an error at its place: nothing is left out, and nothing is made nearly the same.
"""

from sase.sigma.script import script_of

__all__ = ["script_of"]
