"""Resolve the names and types of a syntax tree against a schema; check the language's rules."""

from sase.binding.binder import bind, bind_text
from sase.binding.bound import BoundQuery
from sase.binding.schema import OPEN, EventType, Schema

__all__ = ["OPEN", "BoundQuery", "EventType", "Schema", "bind", "bind_text"]
