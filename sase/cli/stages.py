"""How far Spark has come, on standard error, for whoever waits longer than two seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sase.cli.progress import WIDTH, Progress

if TYPE_CHECKING:
    from sase.spark.session import SparkSession
    from sase.spark.stages import StageNow


class Stages(Progress):
    """The stages that run now, with their tasks, and the matches once they are counted."""

    def __init__(self, spark: SparkSession, total: int | None) -> None:
        super().__init__(total)
        from sase.spark.stages import stages_of

        self._stages = stages_of(spark)

    def line(self) -> str:
        """A bar for the tasks of the stages that run, and what is known."""
        stages = self._stages()
        done, total = sum(each.done for each in stages), sum(each.tasks for each in stages)
        bar = "█" * round(done / max(total, 1) * WIDTH)
        known = [_text(done, total, stages)] if stages else ["no stage runs"]
        if self._total:
            known.append(f"{self._total:,} rows")
        if self.matches:
            known.append(f"{self.matches:,} matches")
        return f"{bar:░<{WIDTH}} {', '.join(known)}, {self.seconds:.0f} s"


def _text(done: int, total: int, stages: list[StageNow]) -> str:
    numbers = ", ".join(str(each.number) for each in stages)
    return f"{done} of {total} tasks of stage{'s' * (len(stages) > 1)} {numbers}"
