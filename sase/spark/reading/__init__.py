"""Events as DataFrames: their source, the columns that tasks need, and the layout of rows."""
