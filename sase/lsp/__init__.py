"""The language server: queries in editors."""
