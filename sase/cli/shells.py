"""The scripts with which bash, zsh and fish complete a command line, made from its places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from shlex import quote
from typing import Literal, NamedTuple


class Option(NamedTuple):
    """An option: its names, its help, and the kind of its value."""

    names: tuple[str, ...]
    help: str
    takes: Literal["nothing", "file", "choice", "other"]
    choices: tuple[str, ...]


class CompletionPlace(NamedTuple):
    """A place of the command line: the words that lead to it, and the words that may follow."""

    words: tuple[str, ...]
    options: tuple[Option, ...]
    choices: dict[str, str]
    takes_files: bool


BASH = """\
# Completes the command lines of sase in bash. In ~/.bashrc:  eval "$(sase completion bash)"
_sase() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local place=sase next=yes known= each
    # Bash parts --option=value into three words.
    if [[ $word == "=" ]]; then
        word=
    elif [[ $before == "=" ]]; then
        before=${COMP_WORDS[COMP_CWORD-2]}
    fi
    for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$place $each" in
            %(places)s) place="$place $each" ;;
            *) next=; break ;;
        esac
    done
    # A choice is the next word after its place, and no option is before it.
    [[ $next ]] && before=
    case "$place/$before/$word" in
%(known)s
    esac
    COMPREPLY=($(compgen -W "$known" -- "$word"))
}
# Where nothing is known bash completes the names of files.
complete -o default -F _sase sase
"""


def bash(places: list[CompletionPlace]) -> str:
    """One function with the words that may follow at each place."""
    reached = [quote(" ".join(("sase", *place.words))) for place in places if place.words]
    lines = [f"        {pattern}) known={quote(known)} ;;" for pattern, known in _known(places)]
    return BASH % {"places": " | ".join(reached), "known": "\n".join(lines)}


def _known(places: list[CompletionPlace]) -> Iterator[tuple[str, str]]:
    """Patterns of place/previous word/word, with words to offer; the first match counts."""
    for place in places:
        here = " ".join(("sase", *place.words))
        for option in place.options:
            if option.takes == "choice":
                for name in option.names:
                    yield f"{quote(f'{here}/{name}/')}*", " ".join(option.choices)
        names = [name for option in place.options for name in option.names]
        yield f"{quote(f'{here}/')}*/-*", " ".join(names)
        if place.choices:
            yield f"{quote(f'{here}//')}*", " ".join(place.choices)


ZSH = """\
#compdef sase
# Completes the command lines of sase in zsh.
# In ~/.zshrc, after compinit:  eval "$(sase completion zsh)"
%(functions)s
# As a file of $fpath this is the function itself.
if [[ $funcstack[1] == _sase ]]; then
    _sase "$@"
else
    compdef _sase sase
fi
"""


def zsh(places: list[CompletionPlace]) -> str:
    """A function for each place, which calls the function of the next place."""
    return ZSH % {"functions": "\n".join(map(_zsh_function, places))}


def _zsh_function(place: CompletionPlace) -> str:
    name = "_".join(("_sase", *place.words))
    specs = [_zsh_option(option, each) for option in place.options for each in option.names]
    if not any(place.choices.values()):
        if place.choices:
            specs.append(f"1: :({' '.join(place.choices)})")
        if place.takes_files:
            specs.append("*:file:_files")
        return f"{name}() {{\n    _arguments \\\n{_zsh_lines(specs)}\n}}\n"
    choices = [f"{choice}:{says}" for choice, says in place.choices.items()]
    return f"""\
{name}() {{
    local curcontext=$curcontext context state line
    local -A opt_args
    local -a choices=({" ".join(map(quote, choices))})
    _arguments -C \\
{_zsh_lines([*specs, "1: :->choice", "*:: :->below"])}
    case $state in
        choice) _describe choice choices ;;
        below) (( $+functions[{name}_$words[1]] )) && {name}_$words[1] ;;
    esac
}}
"""


def _zsh_lines(specs: list[str]) -> str:
    return " \\\n".join(f"        {quote(spec)}" for spec in specs)


def _zsh_option(option: Option, name: str) -> str:
    says = option.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    others = f"({' '.join(option.names)})"
    value = {
        "nothing": "",
        "file": ":file:_files",
        "choice": f":choice:({' '.join(option.choices)})",
        "other": ":value: ",
    }[option.takes]
    equals = "=" if value and name.startswith("--") else ""
    return f"{others}{name}{equals}[{says}]{value}"


FISH = """\
# Completes the command lines of sase in fish. In config.fish:  sase completion fish | source
function __sase_at -d 'Whether these words, and no others, come before the cursor'
    set -l words (commandline -opc)
    set -e words[1]
    test "$words" = "$argv"
end
function __sase_after -d 'Whether these words come before the cursor, whatever follows them'
    set -l words (commandline -opc)
    set -e words[1]
    string match -q -- "$argv *" "$words "
end
%(completions)s
"""


def fish(places: list[CompletionPlace]) -> str:
    """One line for each completion."""
    return FISH % {"completions": "\n".join(line for place in places for line in _fish(place))}


def _fish(place: CompletionPlace) -> Iterator[str]:
    # A place with places below it ends where the next word begins.
    within = "at" if any(place.choices.values()) else "after"
    if not place.takes_files:
        yield _fish_line(within, place, "-f")
    for choice, says in place.choices.items():
        yield _fish_line("at", place, f"-a {choice}", says)
    for option in place.options:
        value = {
            "nothing": "",
            "file": " -r -F",
            "choice": f" -x -a {_fish_quoted(' '.join(option.choices))}",
            "other": " -x",
        }[option.takes]
        names = [f"-l {name[2:]}" if name[:2] == "--" else f"-s {name[1]}" for name in option.names]
        yield _fish_line(within, place, " ".join(names) + value, option.help)


def _fish_line(where: str, place: CompletionPlace, offers: str, says: str = "") -> str:
    condition = _fish_quoted(" ".join((f"__sase_{where}", *place.words)))
    described = f" -d {_fish_quoted(says)}" if says else ""
    return f"complete -c sase -n {condition} {offers}{described}"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCRIPTS: dict[str, Callable[[list[CompletionPlace]], str]] = {
    "bash": bash,
    "zsh": zsh,
    "fish": fish,
}
