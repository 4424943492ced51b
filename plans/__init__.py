"""The plan recipes as data of the package: `sase.plans` is this folder."""
