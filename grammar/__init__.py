"""The grammar as data of the package: `sase.grammar` is this folder."""
