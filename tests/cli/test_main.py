"""The program around the commands: finding them, exit statuses, broken output."""

import functools
import os
import signal
import subprocess
import sys
import types

import pytest

import sase
from sase.cli import main as program

# A program with the one command `fake`, which runs the text in its place.
FAKE = """
import sys, types
from sase.cli import main as program
fake = types.ModuleType("fake")
fake.configure = lambda parser: None
def run(arguments):
    {work}
    return 0
fake.run = run
sys.modules["fake"] = fake
program.COMMANDS = (program.Command("fake", "fake", "For a test."),)
sys.exit(program.main(["fake"]))
"""


# Without settings of Python, such as PYTHONUNBUFFERED, that change when a broken output shows.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def start(*command: str, environment: dict[str, str] | None = None, **options):
    """Start Python with pipes for its output."""
    return subprocess.Popen(
        [sys.executable, *command],
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        env=ENVIRONMENT | (environment or {}),
        **options,
    )


def finish(*command: str, **options) -> tuple[int, str, str]:
    """Exit status, output and error output of Python with these arguments."""
    process = start(*command, **options)
    out, err = process.communicate()
    return process.returncode, (out or b"").decode("latin-1"), err.decode("latin-1")


def fake(work: str, **options) -> tuple[int, str, str]:
    return finish("-c", FAKE.format(work=work), **options)


@pytest.fixture
def commands(monkeypatch):
    """Commands of our own, and the log of their calls."""
    log = []
    module = types.ModuleType("fake")

    def configure(parser):
        parser.add_argument("files", nargs="*")
        parser.add_argument("--schema")
        parser.add_argument("--status", type=int, default=0)

    def run(arguments):
        log.append(arguments)
        return arguments.status

    module.configure, module.run = configure, run
    monkeypatch.setitem(sys.modules, "fake", module)
    monkeypatch.setattr(
        program,
        "COMMANDS",
        (
            program.Command("check", "fake", "Check it."),
            program.Command("replay", "not_there", "Replay it."),
        ),
    )
    return log


def refused(*arguments: str) -> None:
    with pytest.raises(SystemExit) as stop:
        program.main(arguments)
    assert stop.value.code == 2


def test_a_command_gets_its_arguments_and_gives_the_exit_status(commands):
    assert program.main(["check", "a.sase", "--schema", "s.toml", "-", "--status", "7"]) == 7
    (arguments,) = commands
    assert (arguments.files, arguments.schema) == (["a.sase", "-"], "s.toml")


def test_arguments_come_from_the_process_by_default(commands, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["sase", "check", "--status", "1"])
    assert program.main() == 1


# Runs `main` and says, after all that the program does at its exit, whether objects are frozen.
FROZEN = """
import atexit, gc, sys
atexit.register(lambda: print(gc.get_freeze_count() > 0, gc.get_threshold()[0] > 10_000))
sys.argv = ["sase", "--version"]
from sase.cli.main import main
main({arguments})
"""


@pytest.mark.parametrize(("arguments", "is_so"), [("", True), ('["--version"]', False)])
def test_the_program_hardly_looks_for_cycles_and_not_at_its_exit(arguments, is_so):
    status, out, _ = finish("-c", FROZEN.format(arguments=arguments))
    assert status == 0
    assert out.splitlines()[-1] == f"{is_so} {is_so}"  # a caller's process is left as it is


def test_help_lists_every_command_and_imports_none(commands, capsys):
    with pytest.raises(SystemExit) as stop:
        program.main(["--help"])
    assert stop.value.code == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "check Check it." in out
    assert "replay Replay it." in out  # its module does not even exist


def test_help_of_a_command_shows_its_options(commands, capsys):
    with pytest.raises(SystemExit) as stop:
        program.main(["check", "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert "usage: sase check" in out
    assert "Check it." in out
    assert "--schema" in out


def test_no_command_shows_the_help_as_an_error(commands, capsys):
    assert program.main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Check it." in err


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("chekc", "sase: error: there is no command 'chekc'; did you mean check?"),
        ("relpay", "sase: error: there is no command 'relpay'; did you mean replay?"),
        ("xyzzy", "sase: error: there is no command 'xyzzy'; there are: check, replay"),
        ("", "sase: error: there is no command ''; there are: check, replay"),
    ],
)
def test_a_mistyped_command_is_told_the_nearest(commands, capsys, word, expected):
    refused(word, "-q", "EVENT A")
    assert capsys.readouterr().err.splitlines()[-1] == expected
    assert commands == []


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("--shcema", "'--shcema' means nothing here; did you mean --schema?"),
        ("--schem", "'--schem' means nothing here; did you mean --schema?"),
        ("-z", "'-z' means nothing here; there are: -h, --help, --schema, --status"),
    ],
)
def test_a_mistyped_option_is_told_the_nearest(commands, capsys, word, expected):
    refused("check", word)
    out, err = capsys.readouterr()
    assert err.splitlines()[-1] == f"sase check: error: {expected}"
    assert "usage: sase check" in err
    assert commands == []


def test_an_option_of_the_wrong_type_is_refused(commands, capsys):
    refused("check", "--status", "many")
    assert "--status" in capsys.readouterr().err


@pytest.mark.parametrize("command", program.COMMANDS, ids=lambda command: command.name)
def test_every_command_of_the_program_has_its_module(command, capsys):
    with pytest.raises(SystemExit) as stop:
        program.main([command.name, "--help"])
    assert stop.value.code == 0
    assert command.summary in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("module", ["sase", "sase.cli.main"])
def test_the_program_has_two_doors(module):
    code = "import sys, sase.cli.main as m; sys.argv[0] = 'sase'; sys.exit(m.main())"
    command = ["-m", "sase"] if module == "sase" else ["-c", code]
    status, out, err = finish(*command, "--version")
    assert (status, out.strip(), err) == (0, f"sase {sase.__version__}", "")
    status, _, err = finish(*command, "chekc")
    assert (status, err.splitlines()[-1][-22:]) == (2, "'; did you mean check?")


def test_an_error_of_the_system_is_one_line():
    status, out, err = fake("open('not_there.sase')")
    assert (status, out) == (1, "")
    assert err.splitlines() == [
        "sase: error: [Errno 2] No such file or directory: 'not_there.sase'"
    ]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_one_line():
    with open("/dev/full", "wb") as full:
        status, _, err = fake("print('result')", stdout=full)
    assert (status, err.splitlines()) == (1, ["sase: error: [Errno 28] No space left on device"])


@pytest.mark.parametrize("work", ["print('x')", "[print('x' * 99) for _ in range(9999)]"])
def test_a_reader_that_leaves_ends_the_program_quietly(work):
    process = start("-c", FAKE.format(work=work))
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), err) == (141, b"")


def test_a_reader_of_the_help_may_leave_too():
    process = start("-m", "sase", "--help")
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), err) == (141, b"")


def test_a_reader_of_both_outputs_may_leave():
    reading, writing = os.pipe()
    work = "[print('x' * 99, file=sys.stderr) for _ in range(9999)]"
    command = [sys.executable, "-c", FAKE.format(work=work)]
    process = subprocess.Popen(command, stdout=writing, stderr=writing)
    os.close(reading)
    os.close(writing)
    assert process.wait() == 141


def test_without_output_at_all():
    error = "sase: error: there is no standard output: it is closed\n"
    assert fake("print('x')", preexec_fn=lambda: os.close(1))[::2] == (1, error)


def test_an_interrupt_is_quiet():
    assert fake("raise KeyboardInterrupt") == (130, "", "")


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_an_interrupt_from_outside_is_quiet():
    # A shell starts background programs with interrupts ignored, and children inherit that.
    heed = functools.partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    work = "print('go', flush=True); import time; time.sleep(60)"
    process = start("-c", FAKE.format(work=work), preexec_fn=heed)
    assert process.stdout.readline() == b"go\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"PYTHONUTF8": "1"}, "∧ é \\udcff".encode()),
        ({"PYTHONIOENCODING": "ascii"}, rb"\u2227 \xe9 \udcff"),
        ({"PYTHONIOENCODING": "latin-1"}, b"\\u2227 \xe9 \\udcff"),
        ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, rb"\u2227 \xe9 \udcff"),
    ],
)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_any_character_can_be_written(environment, expected, stream):
    work = r"print('\u2227 \xe9 \udcff', file=sys." + stream + ")"
    process = start("-c", FAKE.format(work=work), environment=environment)
    outputs = dict(zip(["stdout", "stderr"], process.communicate(), strict=True))
    assert process.returncode == 0
    assert outputs.pop(stream).rstrip() == expected
    assert set(outputs.values()) == {b""}


def test_an_argument_that_is_no_text_is_shown():
    status, _, err = finish("-m", "sase", b"\xff\xfe")
    assert status == 2
    assert r"'\udcff\udcfe'" in err


def test_libraries_that_are_not_loaded_for_want_of_memory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sentence says it where there is a limit; else it is an error of the installation."""
    resource = pytest.importorskip("resource")
    limit = [resource.RLIM_INFINITY]
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limit[0], resource.RLIM_INFINITY))
    for error in (ImportError, OSError):

        def fail(name: str, error: type[Exception] = error) -> None:
            raise error("lib.so: cannot load the shared object")

        monkeypatch.setattr("sase.cli.main.import_module", fail)
        limit[0] = 100 << 20
        assert program.main(["run"]) == 1
        assert (
            "there is not enough memory to load or compile code: a limit" in capsys.readouterr().err
        )
        limit[0] = resource.RLIM_INFINITY
        if error is ImportError:
            with pytest.raises(ImportError):
                program.main(["run"])
        else:
            assert program.main(["run"]) == 1
            assert "memory" not in capsys.readouterr().err
