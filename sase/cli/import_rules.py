"""`sase import`: translate rules of other languages to scripts; the rest is an error."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from sase.base.files import write_whole
from sase.cli.messages import print_text
from sase.cli.queries import ArgumentError, read_text


def configure(parser: ArgumentParser) -> None:
    """Add the languages, and their arguments."""
    languages = parser.add_subparsers(title="languages", metavar="LANGUAGE", required=True)
    summary = "Turn detections and correlations of Sigma into a script."
    sigma = languages.add_parser("sigma", help=summary, description=summary)
    sigma.add_argument("files", metavar="FILE", nargs="*", help="files with rules; - is stdin")
    sigma.add_argument("-o", "--out", metavar="FILE", help="write the script to a file")
    sigma.add_argument(
        "--one-input",
        action="store_true",
        help="all rules read the one input that a run is given, and not one for each log source",
    )
    sigma.add_argument(
        "--type", metavar="NAME", help="the type of the events that rules detect (default: any)"
    )
    sigma.add_argument(
        "--message", metavar="FIELD", help="the field with the whole message, for keywords"
    )


def run(arguments: Namespace) -> int:
    """Print the script, or write it to a file."""
    from sase.sigma import script_of

    if not arguments.files:
        raise ArgumentError("there are no rules: name their files, or - for standard input")
    texts = [read_text(name) for name in arguments.files]
    script = script_of(
        [(text.content, text.name) for text in texts],
        one_input=arguments.one_input,
        type=arguments.type,
        message=arguments.message,
    )
    if not script:
        raise ArgumentError("there is no rule in these files")
    if arguments.out is None:
        print_text(script)
    else:
        write_whole(arguments.out, script.encode())
    return 0
