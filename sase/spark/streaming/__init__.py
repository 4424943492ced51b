"""Queries over streaming DataFrames: state by bucket of keys, moved by the watermark."""

from sase.spark.streaming.query import Stream, stream

__all__ = ["Stream", "stream"]
