"""The message if Spark cannot be tested."""

from pathlib import Path

import pytest

from tests import spark_here

TOLD = {
    'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment': 17,
    'java version "1.8.0_381"': 8,
    'openjdk version "21" 2023-09-19': 21,
    "Unable to locate a Java Runtime.": None,
}


@pytest.mark.parametrize("told", TOLD)
def test_the_version_of_java_is_read(told: str) -> None:
    assert spark_here.version_in(told) == TOLD[told]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of Java in which nothing is yet."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (tmp_path / "bin").mkdir()
    return tmp_path


def java(home: Path, version: str) -> None:
    program = home / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)


def missing() -> str:
    return spark_here.missing.__wrapped__()


def test_without_java_the_tests_are_left_out(home: Path) -> None:
    assert "there is no Java" in missing()


def test_with_an_old_java_too(home: Path) -> None:
    java(home, "11.0.2")
    assert missing() == "Java is 11, and Spark needs 17 or later"


def test_a_newer_one_will_do(home: Path) -> None:
    java(home, "21.0.2")
    assert missing() == ""


def test_without_pyspark_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_here, "find_spec", lambda name: None)
    assert missing() == "pyspark is not installed"
