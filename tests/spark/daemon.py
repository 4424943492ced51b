"""Spark forks its Python workers in tests from this process, which has the modules of tasks.

A worker looks through all its objects for garbage behind every task, which for those of the imports
alone takes as long as a small task does, and each that had an error is followed by a fresh one.
"""

from __future__ import annotations

import gc
import runpy

import sase.spark.tasks.task  # noqa: F401

if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    # As the main module, by which we know that a process is a worker of Spark.
    runpy.run_module("pyspark.daemon", run_name="__main__", alter_sys=True)
