"""Physical operators, one in a file, with a folder for each form of pattern.

Operators on sequences are directly in this folder. A folder such as `groups` has the operators that
only a form of pattern needs. Each module imports only modules before it in the order of
tests/repo/test_imports.py.
"""
