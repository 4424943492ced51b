"""Convert Sigma rules to scripts: detections become filters, correlations become patterns.

`script_of` converts YAML documents to the text of a script. A construct without an exact equivalent
is an error at its place; nothing is dropped or approximated.
"""

from sase.sigma.script import script_of

__all__ = ["script_of"]
