"""The statements of a script: their names, the streams that each reads, and the execution order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sase.base.interface import option, stream
from sase.base.texts import did_you_mean
from sase.binding.binder import bind
from sase.binding.bound import BoundQuery
from sase.binding.schema import OPEN, Schema
from sase.binding.script.streams import NamedStream, composite_schema, merged_schema, returned
from sase.errors import BindingError, Diagnostic, PlanError, QueryError, SchemaError
from sase.lang import ast
from sase.lang.parser import parse_script
from sase.source import Source, Span


@dataclass(frozen=True)
class NamedQuery:
    """A statement: the name of its results, and the names of the streams that it reads.

    None is the unnamed input. `text` is the query from EVENT on, padded with blanks, so that its
    positions are those in the script.
    """

    name: str
    sources: tuple[str | None, ...]
    is_stream: bool
    places: tuple[Span, ...] = field(repr=False)
    tree: ast.Query = field(repr=False)
    text: str = field(repr=False)
    written: str = field(repr=False)


@dataclass(frozen=True)
class StatementGraph:
    """The statements of a script, connected by the streams that they read."""

    source: Source
    statements: tuple[NamedQuery, ...]
    # The errors of statements that read inputs which are not given.
    lacking: Mapping[str, BindingError] = field(default_factory=dict)

    @classmethod
    def of(
        cls, text: str, given: Collection[str | None] | None = None, *, name: str = "script"
    ) -> StatementGraph:
        """Parse a script; raise a `BindingError` with all problems of names.

        The `given` inputs are known by these names; without them every name that is read is an
        input. Statements that read other inputs are `lacking`, with the error.
        """
        source = Source(text, name)
        tree = parse_script(text, name)
        found: list[Diagnostic] = []
        names = list(_names(tree, source, given, found))
        streams = {n for n, each in zip(names, tree.statements, strict=True) if each.stream}
        inputs = _inputs(tree, names) if given is None else set(given)
        lacking = _check_sources(tree, source, streams, names, inputs, found)
        blank = _blank(text)
        statements = tuple(
            _statement(each, own, inputs, source, blank, found)
            for each, own in zip(tree.statements, names, strict=True)
        )
        if not found and len(_placed(statements)) < len(statements):
            found += _cycles(tree, statements, source)
        if found:
            found += (each for problem in lacking.values() for each in problem.diagnostics)
            raise BindingError(sorted(found, key=lambda each: each.span))
        return cls(source, statements, lacking)

    @property
    def inputs(self) -> tuple[str | None, ...]:
        """The inputs that statements read, in the order of first use."""
        streams = {each.name for each in self.statements if each.is_stream}
        known = [each for each in self.statements if each.name not in self.lacking]
        read = (name for each in known for name in each.sources if name not in streams)
        return tuple(dict.fromkeys(read))

    @property
    def order(self) -> tuple[NamedQuery, ...]:
        """The statements, each after those that it reads, otherwise in text order."""
        return tuple(_placed(self.statements).values())

    @property
    def is_lone(self) -> bool:
        """Whether there is one statement, over one input."""
        return len(self.statements) == 1 and len(self.statements[0].sources) == 1

    def readers(self, name: str | None) -> tuple[NamedQuery, ...]:
        """The statements that read a stream or an input."""
        return tuple(each for each in self.statements if name in each.sources)

    def without(self, names: Collection[str]) -> StatementGraph:
        """The graph without some statements; the others keep their names."""
        kept = tuple(each for each in self.statements if each.name not in names)
        return replace(self, statements=kept)

    @property
    def result(self) -> NamedQuery:
        """The only statement that no other reads; an error lists them if there are several."""
        return self.only_result("run it with  sase.Script(text).run(…)  , which has them all")

    def chosen(self, name: str | None, of_all: str = "") -> NamedQuery:
        """The statement of a name, or by default the only result; `of_all` is a hint."""
        if name is None:
            other = f", or use  {of_all}  , which tells of all" if of_all else ""
            return self.only_result(f"choose with  {option('statement')}{other}")
        found = next((each for each in self.statements if each.name == name), None)
        if found is None:
            names = [each.name for each in self.statements]
            hint = did_you_mean(name, names) or (", ".join(names),)
            raise PlanError(f"there is no statement `{name}`: {hint[0]}")
        return found

    def only_result(self, remedy: str) -> NamedQuery:
        """The only statement that no other reads; else an error that lists them, with a remedy."""
        read = {name for each in self.statements for name in each.sources}
        found = [e for e in self.statements if not (e.is_stream and e.name in read)]
        if len(found) > 1:
            names = ", ".join(each.name for each in found)
            raise PlanError(
                f"this script has several results, {names}, and one is expected here: {remedy}"
            )
        return found[0]

    def schema_read(self, query: NamedQuery, streams: Mapping[str | None, NamedStream]) -> Schema:
        """The schema of a statement's input; an error if its streams cannot be read as one."""
        read = [streams[name] for name in query.sources]
        if len(read) == 1:
            return read[0].schema
        try:
            return merged_schema(read)
        except SchemaError as problem:
            raise self.error("streams-apart", str(problem), query) from None

    def stream_of(
        self, query: NamedQuery, bound: BoundQuery, streams: Mapping[str | None, NamedStream]
    ) -> NamedStream:
        """The stream of a statement's results, as its readers see it."""
        schema = self.schema_read(query, streams)
        time = streams[query.sources[0]].schema.time
        if time in (returned(bound, schema) or {}) and self.readers(query.name):
            message = (
                f"the result has a column `{time}`, and as events for those who read"
                f" `{query.name}` the results have their time there"
            )
            hint = "give it another name with  RETURN … AS name"
            raise self.error("column-clash", message, query, hint)
        return NamedStream(query.name, composite_schema(bound, query.name, schema, time), True)

    def error(self, code: str, message: str, query: NamedQuery, *hints: str) -> BindingError:
        """An error at the last source of a statement."""
        return BindingError([Diagnostic(code, message, query.places[-1], self.source, hints)])

    def in_script(self, problem: QueryError) -> QueryError:
        """An error of a statement's text, shown in the script."""
        found = (replace(each, source=self.source) for each in problem.diagnostics)
        return type(problem)(found)


def check_script(
    text: str,
    schema: Schema | Mapping[str | None, Schema] = OPEN,
    *,
    name: str = "query",
    parameters: Mapping[str, object] | None = None,
    flat: bool = False,
) -> list[Diagnostic]:
    """The errors and warnings of a script's statements, in order; raises if it does not parse.

    A single schema applies to every input; schemas by name define all inputs. `parameters` and
    `flat` are those of `bind`.
    """
    given = None if isinstance(schema, Schema) else schema
    try:
        graph = StatementGraph.of(text, given, name=name)
    except BindingError as problem:
        return list(problem.diagnostics)
    found: list[Diagnostic] = []
    schemas = dict.fromkeys(graph.inputs, schema) if isinstance(schema, Schema) else schema
    streams = {each: NamedStream(each, schemas[each]) for each in graph.inputs}
    for query in graph.order:
        try:
            if query.name in graph.lacking:
                raise graph.lacking[query.name]
            bound = bind(
                query.tree,
                graph.schema_read(query, streams),
                source=graph.source,
                parameters=parameters,
                flat=flat,
            )
            found += bound.warnings
            streams[query.name] = graph.stream_of(query, bound, streams)
        except BindingError as problem:
            found += problem.diagnostics
            # Readers may use any column, so none is left out.
            read = streams.get(query.sources[0])
            time = OPEN.time if read is None else read.schema.time
            streams[query.name] = NamedStream(query.name, replace(OPEN, time=time), True)
    return sorted(found, key=lambda each: each.span)


def _names(
    tree: ast.Script,
    source: Source,
    given: Collection[str | None] | None,
    found: list[Diagnostic],
) -> Iterator[str]:
    """The name of each statement; a duplicate is an error."""
    taken = {name: "an input" for name in given or () if name is not None}
    for number, statement in enumerate(tree.statements, start=1):
        stream = statement.stream
        name = stream.text if stream is not None else f"query_{number}"
        span = _span(statement)
        if name in taken:
            message = f"`{name}` is the name of {taken[name]} already"
            hint = "give the stream another name"
            found.append(Diagnostic("stream-named-twice", message, span, source, (hint,)))
        taken.setdefault(name, "another stream" if stream else f"statement {number}")
        yield name


def _span(statement: ast.Statement) -> Span:
    return statement.stream.span if statement.stream is not None else statement.query.pattern.span


def _inputs(tree: ast.Script, names: Collection[str]) -> set[str | None]:
    """The inputs that are read, if none are given: all names that no statement defines."""
    named = {name.text for each in tree.statements for name in each.query.sources}
    inputs: set[str | None] = set(named - set(names))
    unnamed = any(not each.query.sources for each in tree.statements)
    return inputs | {None} if unnamed and len(inputs) != 1 else inputs


def _check_sources(
    tree: ast.Script,
    source: Source,
    streams: Collection[str],
    names: Sequence[str],
    inputs: Collection[str | None],
    found: list[Diagnostic],
) -> dict[str, BindingError]:
    """Refuse to read results or one stream twice; return the errors of reading unknown inputs."""
    known = sorted({*streams, *(name for name in inputs if name is not None)})
    lacking: dict[str, list[Diagnostic]] = {}
    for own, statement in zip(names, tree.statements, strict=True):
        seen: set[str] = set()
        for name in statement.query.sources:
            if name.text not in known:
                problem = _unknown(name, known, names, source)
                (found if name.text in names else lacking.setdefault(own, [])).append(problem)
            elif name.text in seen:
                message = f"`{name.text}` is read twice"
                hint = "name each stream once after FROM"
                found.append(Diagnostic("read-twice", message, name.span, source, (hint,)))
            seen.add(name.text)
    return {name: BindingError(each) for name, each in lacking.items()}


def _unknown(
    name: ast.Name, known: Collection[str], names: Collection[str], source: Source
) -> Diagnostic:
    if name.text in names:
        message = f"`{name.text}` names results, and makes no stream that can be read"
        hints: tuple[str, ...] = (f"name its stream:  CREATE STREAM name AS …  in `{name.text}`",)
    else:
        message = f"there is no stream `{name.text}`"
        given = stream(name.text)
        every = (f"there are {', '.join(known)}; an input of that name is given with  {given}",)
        if not known:
            every = (f"the events have no name: leave FROM out, or give them one with  {given}",)
        hints = did_you_mean(name.text, known) or every
    return Diagnostic("unknown-stream", message, name.span, source, hints)


def _statement(
    statement: ast.Statement,
    name: str,
    inputs: Collection[str | None],
    source: Source,
    blank: str,
    found: list[Diagnostic],
) -> NamedQuery:
    query = statement.query
    sources: tuple[str | None, ...] = tuple(each.text for each in query.sources)
    if not sources:
        sources = _only(statement, inputs, source, found)
    begin = query.sources[-1].span.end if query.sources else query.span.start
    if query.sources and source.text[begin : begin + 1] == "`":
        begin += 1
    written = source.text[begin : query.span.end]
    text = blank[:begin] + written + blank[query.span.end :]
    tree = replace(query, sources=())
    places = tuple(each.span for each in query.sources) or (query.pattern.span,)
    is_stream = statement.stream is not None
    return NamedQuery(name, sources, is_stream, places, tree, text, written.strip())


def _only(
    statement: ast.Statement,
    inputs: Collection[str | None],
    source: Source,
    found: list[Diagnostic],
) -> tuple[str | None, ...]:
    """The input of a query without FROM: the unnamed one, or the only one."""
    if None in inputs:
        return (None,)
    if len(inputs) != 1:
        message = "which stream this reads is not said, and every input has a name"
        hint = f"begin with  FROM name ; there are {', '.join(sorted(map(str, inputs)))}"
        span = statement.query.pattern.span
        found.append(Diagnostic("no-stream", message, span, source, (hint,)))
    return tuple(inputs)[:1]


def _blank(text: str) -> str:
    """Replace a text by blanks, keeping its lines."""
    return "".join(each if each in "\r\n" else " " for each in text)


def _placed(queries: Iterable[NamedQuery]) -> dict[str, NamedQuery]:
    """The statements, each after those that it reads; statements in cycles are missing."""
    by_name = {each.name: each for each in queries if each.is_stream}
    found: dict[str, NamedQuery] = {}
    for each in queries:
        way = {each.name: each}
        while way:
            last = way[next(reversed(way))]
            left = (by_name[n] for n in last.sources if n in by_name and n not in found)
            before = None if last.name in found else next(left, None)
            if before is None:
                found.setdefault(last.name, last)
                del way[last.name]
            elif before.name in way:
                break
            else:
                way[before.name] = before
    return found


def _cycles(
    tree: ast.Script, statements: Iterable[NamedQuery], source: Source
) -> Iterator[Diagnostic]:
    """Report each cycle once, at its first statement in the text."""
    by_name = {each.name: each for each in statements if each.is_stream}
    seen: set[str] = set()
    for each, written in zip(statements, tree.statements, strict=True):
        way = _way_to(each.name, each, by_name)
        if not way or seen.intersection(way):
            continue
        seen.update(way)
        arrows = " reads ".join([*way, each.name])
        message = f"this stream is made of itself: {arrows}"
        hint = "let one of them read an input alone"
        yield Diagnostic("cycle", message, _span(written), source, (hint,))


def _way_to(name: str, begin: NamedQuery, by_name: dict[str, NamedQuery]) -> tuple[str, ...] | None:
    """The shortest path from a statement to a stream that it reads."""
    ways: list[tuple[str, ...]] = [(begin.name,)]
    seen: set[str | None] = set()
    while ways:
        way = ways.pop(0)
        for read in by_name.get(way[-1], begin).sources:
            if read == name:
                return way
            if read is not None and read in by_name and read not in seen:
                seen.add(read)
                ways.append((*way, read))
    return None
