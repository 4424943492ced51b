"""`sase completion`: the offers of the shells themselves for words half written."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sase.cli import completion, main, shells

# Prints the offers of bash for the words of its arguments, the last one half written.
ASK_BASH = """
source ./script
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_sase
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def script(tmp_path, monkeypatch, capsys):
    """Writes the script for a shell into a folder, in which the shells then run."""
    monkeypatch.chdir(tmp_path)

    def write(shell: str) -> None:
        assert main.main(["completion", shell]) == 0
        Path("script").write_text(capsys.readouterr().out, encoding="utf-8")

    return write


def shell(*command: str) -> list[str]:
    environment = os.environ | {"HOME": os.getcwd()}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split("\n")[:-1]


def needs(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(name) is None, reason=f"needs {name}")


@needs("bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("sase ge", "generate"),
        ("sase ", " ".join(command.name for command in main.COMMANDS)),
        ("sase --v", "--version"),
        ("/some/where/sase form", "format"),
        ("sase check --s", "--schema"),
        ("sase check --format ", "text json"),
        ("sase check --format j", "json"),
        ("sase check --format =", "text json"),  # as bash parts --format=
        ("sase check --format = j", "json"),
        ("sase check a.sase --form", "--format"),
        ("sase check a", ""),  # and bash continues with the names of files
        ("sase check --schema ", ""),
        ("sase generate ", "uniform stock retail hadoop"),
        ("sase generate u", "uniform"),
        ("sase generate --h", "--help"),
        ("sase generate retail --ta", "--tags"),
        ("sase generate retail --tags i", "integer"),
        ("sase generate retail -o x.csv --an", "--answers"),
        ("sase generate retail re", ""),
        ("sase completion ", "bash zsh fish"),
        ("sase completion bash ", ""),
        ("sase nothing ", ""),
    ],
)
def test_bash(script, words, expected):
    script("bash")
    offered = shell("bash", "--norc", "-c", ASK_BASH, "bash", *words.split(" "))
    assert " ".join(offered) == expected


@needs("fish")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("sase ge", "generate"),
        ("sase generate ", "hadoop retail stock uniform"),
        ("sase generate retail --ta", "--tags"),
        ("sase generate retail --tags ", "integer string"),
        ("sase generate retail --seed ", ""),
        ("sase check scr", "script"),
        ("sase check --schema scr", "script"),
        ("sase completion z", "zsh"),
    ],
)
def test_fish(script, line, expected):
    script("fish")
    offered = shell("fish", "--no-config", "-c", f"source script; complete -C '{line}'")
    assert " ".join(each.partition("\t")[0] for each in offered) == expected


@needs("zsh")
def test_zsh_reads_the_script(script):
    script("zsh")
    assert shell("zsh", "-n", "script") == []


@pytest.mark.parametrize("name", shells.SCRIPTS)
def test_every_option_of_every_command_is_known(name):
    """Found in the parsers, so that a new one needs no other place to be written."""
    places = list(completion.places())
    assert {place.words[0] for place in places if place.words} == {
        command.name for command in main.COMMANDS
    }
    text = shells.SCRIPTS[name](places)
    options = [option for place in places for option in place.options]
    assert len(options) > 20
    for option in options:
        for word in option.names:
            in_fish = f" -l {word[2:]} " if word.startswith("--") else f" -s {word[1:]} "
            assert (in_fish if name == "fish" else word) in text


def test_descriptions_with_signs_that_mean_something_to_a_shell():
    option = shells.Option(("-x",), r"it's [a] \ b: $HOME", "other", ())
    places = [shells.CompletionPlace(("check",), (option,), {}, False)]
    assert r"""'(-x)-x[it'"'"'s \[a\] \\ b: $HOME]:value: '""" in shells.zsh(places)
    assert r"-s x -x -d 'it\'s [a] \\ b: $HOME'" in shells.fish(places)


@pytest.mark.parametrize("arguments", [[], ["tcsh"]])
def test_a_shell_that_is_not_known(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main.main(["completion", *arguments])
    assert stop.value.code == 2
    assert "SHELL" in capsys.readouterr().err
