"""The session of our own, its needs, and the treatment of errors of Spark."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from sase import errors
from sase.errors import DataError, SparkError, SparkMissingError
from sase.spark.session import (
    LOCAL,
    active_session,
    check_java,
    java_version,
    local_session,
    settings_for,
)
from sase.spark.tasks.errors import short_message, translated, translated_errors


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_381"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "9-internal"', 9),
        ("nonsense", None),
    ],
)
def test_versions_of_java(printed: str, version: int | None) -> None:
    assert java_version(printed) == version


def test_java_is_looked_for_where_spark_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkError, match=f"JAVA_HOME is {tmp_path}, where there is no bin/java"):
        check_java()


def test_what_is_missing_is_an_import_error_too() -> None:
    assert issubclass(SparkMissingError, ImportError)


def test_settings_of_this_machine_are_not_for_a_cluster() -> None:
    assert settings_for("local[2]").items() >= LOCAL.items()
    assert "spark.driver.host" not in settings_for("spark://somewhere:7077")


def test_the_session_is_quiet_and_in_utc(spark: SparkSession) -> None:
    assert active_session() is spark
    assert local_session() is spark
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.sparkContext.getConf().get("spark.ui.enabled") == "false"


# ---------------------------------------------------------------- errors


def failing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        raise DataError("a row is bad: {'ts': None}\nand this is a second line")
        yield batch


def dividing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.slice(1 // 0)


def test_an_error_of_ours_in_a_task(spark: SparkSession) -> None:
    with pytest.raises(DataError) as caught, translated_errors():
        spark.range(2).mapInArrow(failing, "id long").collect()
    assert str(caught.value) == "a row is bad: {'ts': None}\nand this is a second line"


def test_another_error_in_a_task(spark: SparkSession) -> None:
    with pytest.raises(SparkError) as caught, translated_errors():
        spark.range(2).mapInArrow(dividing, "id long").collect()
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("Spark gave up: ZeroDivisionError: ")


def test_an_error_of_spark(spark: SparkSession) -> None:
    with (
        pytest.raises(SparkError, match="Spark gave up: .*no_such_table") as caught,
        translated_errors(),
    ):
        spark.table("no_such_table").collect()
    assert "SQLSTATE" not in str(caught.value)


def test_errors_of_others_pass() -> None:
    with pytest.raises(KeyError), translated_errors():
        raise KeyError("x")


@pytest.mark.parametrize("kind", ["DataError", "PlanError", "SchemaError", "BudgetError"])
def test_classes_of_errors_are_kept(kind: str) -> None:
    text = (
        f"PYTHON\nTraceback (most recent call last):\n  File\nsase.errors.{kind}: so\n\tat a.B(C)"
    )
    found = translated(RuntimeError(text))
    assert type(found) is getattr(errors, kind)
    assert str(found) == "so"


def test_an_error_of_a_query_stays_readable() -> None:
    text = "sase.errors.BindingError: error[unknown-type]: there is no event type `X`\n --> 1:1"
    assert str(translated(RuntimeError(text))).startswith("error[unknown-type]")


def test_what_spark_adds_to_an_error_of_ours_is_cut() -> None:
    text = "sase.errors.PlanError: there are two\nlines of it SQLSTATE: 38000; line 1 pos 14\n\nJVM"
    assert str(translated(RuntimeError(text))) == "there are two\nlines of it"


def test_pages_of_java_are_cut() -> None:
    text = "java.io.IOException: disk full\n\tat org.apache.X.y(X.scala:1)\n\tat z(Z.java:2)"
    assert short_message(text) == "disk full"


def test_no_warning_is_left_over(spark: SparkSession) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert spark.range(1).count() == 1
