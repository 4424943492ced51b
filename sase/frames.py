"""Importing this module registers `df.sase.match(…)` for frames of pandas and of Polars."""

from sase.api.frames import register

register()
