"""Physical operators, one a file, over what they share and the folders of the forms of pattern.

What sequences need stands here; what a form of pattern adds, in a folder of its name. Each imports
only what comes before it in the order of tests/repo/test_imports.py.
"""
