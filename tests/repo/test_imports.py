"""Imports only go down, and each third-party package has one home."""

import ast
import sys
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from typing import NamedTuple

import networkx as nx
import pytest

from tests.repo.source import ROOT, Module, example, module, modules

# The parts of the package from the bottom to the top: each may import those before it.
LAYERS = [
    "cached_property",
    "printable",
    "source",
    "user_frame",
    "errors",
    "base",
    "lang",
    "sigma",
    "binding",
    "planning",
    "engine",
    "diagnostics",
    "api",
    "notebook",
    "lsp",
    "spark",
]

# Part of the package → the parts that it may import. `sase` is sase/__init__, which reaches all of
# them through its lazy names and for type checkers, so only the command line is above it.
PARTS = {part: set(LAYERS[:level]) for level, part in enumerate(LAYERS)} | {
    "sase": set(LAYERS) - {"spark", "sigma"},
    "frames": {"api"},
    "generate": {"errors"},
    "cli": {"sase", "generate", *LAYERS},
    "__main__": {"cli"},
}

# The layers of the engine from the bottom to the top; parts beside them are below them all.
ENGINE = [
    "snapshots",
    "kernels",
    "match_graph",
    "columns",
    "sources",
    "expressions",
    "blocks",
    "operators",
    "statistics",
    "results",
    "pipeline",
    "set_results",
    "scripts",
]
# The folders of kernels, and the files beside them, in the same order.
KERNELS = [
    "jit",
    "sentinels",
    "expressions",
    "scan",
    "match_graph",
    "kleene",
    "runs",
    "sets",
    "groups",
    "confidence",
    "baselines",
]
# The same of operators: the shared parts, the forms of patterns, and the parts that know all forms.
OPERATORS = [
    "contract",
    "bindings",
    "timer_queue",
    "taken_matches",
    "conditions",
    "negative_chains",
    "batch_stacks",
    "active_stacks",
    "join_tree",
    "run_joins",
    "programs",
    "negative_sequences",
    "tight_sequences",
    "negation",
    "kleene",
    "sets",
    "groups",
    "imprecise",
    "baselines",
    "sequence_scan",
    "sequence_construction",
    "match_window",
    "transformation",
    "branches",
    "opening",
]
LAYERED = {
    "sase.engine": ENGINE,
    "sase.engine.kernels": KERNELS,
    "sase.engine.operators": OPERATORS,
}
# An import from these is a package or a module of them.
PACKAGES = LAYERED | {"sase": [*PARTS]}
BESIDE = {"__init__", "report", "resources", "stopwatch"}

# Third-party package → the only modules, with all below them, that import it.
HOMES = {
    "duckdb": ("sase.engine.columns.arrow.python_rows", "sase.engine.results.duckdb_table"),
    "IPython": ("sase.notebook", "sase.user_frame"),
    "lark": ("sase.lang",),
    "lsprotocol": ("sase.lsp.server",),
    "matplotlib": ("sase.engine.results.plot",),
    "networkx": ("sase.planning",),
    "llvmlite": ("sase.engine.kernels.jit",),
    "numba": ("sase.engine.kernels",),
    "openpyxl": ("sase.engine.sources.formats.xlsx",),
    "fsspec": ("sase.engine.sources.file_systems",),
    "deltalake": ("sase.engine.sources.formats.delta",),
    "pyiceberg": ("sase.engine.sources.formats.iceberg",),
    "numpy": ("sase.diagnostics", "sase.engine", "sase.generate", "sase.spark"),
    "pyarrow": (
        "sase.base.regular_expressions",
        "sase.cli.pandas_import",
        "sase.engine.columns",
        "sase.engine.sources",
        "sase.engine.results.row_history",
        "sase.engine.set_results",
        "sase.engine.scripts",
        "sase.engine.results.batch",
        "sase.engine.pipeline.reorder_buffer",
        "sase.engine.results.matches",
        "sase.engine.results.arrow_columns",
        "sase.engine.pipeline.batch",
        "sase.engine.results.duckdb_table",
        "sase.engine.results.funnel",
        "sase.engine.results.plot",
        "sase.engine.results.repr",
        "sase.engine.results.sinks",
        "sase.engine.results.timeline_events",
        "sase.engine.pipeline.matcher",
        "sase.diagnostics.why_not",
        "sase.generate",
        "sase.spark",
    ),
    "pandas": ("sase.spark", "sase.api.frames"),
    "pygls": ("sase.lsp.server",),
    "prompt_toolkit": ("sase.cli.shell.prompt",),
    "polars": ("sase.engine.results.matches", "sase.api.frames"),
    "pyspark": ("sase.spark",),
    "sortedcontainers": ("sase.engine",),
    "yaml": ("sase.sigma",),
}

# Numba's insides change without notice, and have the home of LLVM; this is the rest of it.
PUBLIC_NUMBA = {"numba", "numba.types"}

# These are imported inside the functions that use them: networkx takes 0.25 s, polars comes with
# the user who asks for its frames, and YAML with one who has rules in it.
INSIDE_FUNCTIONS = {
    *(
        "deltalake",
        "duckdb",
        "fsspec",
        "matplotlib",
        "networkx",
        "openpyxl",
        "polars",
        "pyiceberg",
        "yaml",
    ),
}

# Modules that stay light for a quick start, and the parts that they may load at once; the rest is
# imported inside functions.
LIGHT = ("sase.cli", "sase.__main__")
LIGHT_IMPORTS = {"sase", "cli", "errors", "printable", "source", "base"}  # fmt: skip

# The naive matcher judges the engine, so it shares nothing with it but the syntax tree.
NAIVE_IMPORTS = {"lang", "errors", "source"}


class Import(NamedTuple):
    """The imported name, the line, and when: on loading, on calling, or for typing only."""

    target: str
    line: int
    when: str


@cache
def imports(module: Module) -> tuple[Import, ...]:
    """Every import of a module, relative ones resolved."""
    return tuple(_imports(module, module.tree, "loading"))


def _imports(module: Module, node: ast.AST, when: str) -> Iterator[Import]:
    match node:
        case ast.Import(names):
            yield from (Import(name.name, node.lineno, when) for name in names)
        case ast.ImportFrom(target, names, level):
            base = ".".join(filter(None, [_ancestor(module, level), target]))
            # `from sase import lang` imports the part, `from sase import match` a lazy name.
            deep = {name.name for name in names}.intersection(PACKAGES.get(base, ()))
            targets = {f"{base}.{name}" for name in deep} or {base}
            yield from (Import(target, node.lineno, when) for target in sorted(targets))
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            when = "calling"
        case ast.If(ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"), body, orelse):
            for child in body:
                yield from _imports(module, child, "typing")
            for child in orelse:
                yield from _imports(module, child, when)
            return
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):  # in which nothing is imported
            yield from _imports(module, child, when)


def _ancestor(module: Module, level: int) -> str:
    """The package that `level` dots stand for."""
    if level == 0:
        return ""
    parts = module.name.split(".")
    return ".".join(parts[: len(parts) - level + module.is_package])


def part(name: str) -> str:
    """The part of the package to which a module belongs: the key of PARTS."""
    return name.split(".")[1] if "." in name else name


def is_ours(name: str) -> bool:
    return name.split(".")[0] == "sase"


def is_below(name: str, homes: tuple[str, ...]) -> bool:
    return any(f"{name}.".startswith(f"{home}.") for home in homes)


def wrong_directions(module: Module) -> list[str]:
    """The imports of other parts of the package that PARTS does not allow."""
    here = part(module.name)
    if here not in PARTS:
        return [f"{module.path}: PARTS does not know {here}"]
    allowed = PARTS[here] | {here}
    return [
        f"{module.path}:{line}: {here} imports {target}"
        for target, line, _ in imports(module)
        if is_ours(target) and part(target) not in allowed
    ]


def upwards(module: Module) -> list[str]:
    """The imports of layers of the engine, or of its kernels, that stand above its own."""
    return [
        f"{module.path}:{line}: {module.name} imports {target}"
        for target, line, _ in imports(module)
        for package, layers in LAYERED.items()
        if _level(target, package, layers) > _level(module.name, package, layers) >= 0
    ]


def _level(name: str, package: str, layers: list[str]) -> int:
    """The layer of a package in which a module is; 0 below all layers, -1 beside the package."""
    inside = name.startswith(f"{package}.")
    layer = name.removeprefix(f"{package}.").split(".")[0]
    return layers.index(layer) + 1 if inside and layer in layers else 0 if inside else -1


def circles(known: Iterable[Module]) -> list[list[str]]:
    """The modules that import each other; a module is imported with the packages it is in."""
    return _circles(_edges(known))


def circles_of_folders(known: Collection[Module]) -> list[list[str]]:
    """The folders and modules right below a package that import each other, whatever is in them.

    The imports of a package itself, and from it, count as those of a module beside them.
    """
    edges = [*dict.fromkeys(_edges(known))]
    found: list[list[str]] = []
    for package in (each.name for each in known if each.is_package):
        parts = ((_child(one, package), _child(two, package)) for one, two in edges)
        found += _circles((one, two) for one, two in parts if one and two and one != two)
    return found


def _child(name: str, package: str) -> str | None:
    """The folder or module right below a package in which a module is; None beside the package."""
    if not f"{name}.".startswith(f"{package}."):
        return None
    depth = package.count(".") + 2
    return ".".join(name.split(".")[:depth])


def _edges(known: Iterable[Module]) -> Iterator[tuple[str, str]]:
    """Which module imports which."""
    by_name = {each.name: each for each in known}
    for each in by_name.values():
        every = (node for node in each.nodes if isinstance(node, ast.Import | ast.ImportFrom))
        for node in every:
            yield from ((each.name, found) for found in _reached(each, node, by_name))


def _circles(edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    every = nx.strongly_connected_components(nx.DiGraph(list(edges)))
    return [sorted(found) for found in every if len(found) > 1]


def _reached(module: Module, node: ast.AST, known: Collection[str]) -> Iterator[str]:
    """The modules that an import runs, but for the packages that the importing one is in.

    From those it may take modules; who takes anything else of one needs it to have run.
    """
    found: list[str] = []
    match node:
        case ast.Import(names):
            found = [each.name for each in names]
        case ast.ImportFrom(target, names, level):
            base = ".".join(filter(None, [_ancestor(module, level), target]))
            deep = [f"{base}.{each.name}" for each in names]
            found = [each if each in known else base for each in deep]
            if base in found and is_ours(base) and base != module.name:
                yield base
    for name in filter(is_ours, found):
        parts = name.split(".")
        for end in range(2, len(parts) + 1):
            reached = ".".join(parts[:end])
            if not f"{module.name}.".startswith(f"{reached}."):
                yield reached


def far_from_home(module: Module) -> list[str]:
    """The imports of third-party packages that HOMES does not know, or knows elsewhere."""
    return [
        f"{module.path}:{line}: {package} is not imported here"
        for target, line, _ in imports(module)
        if not is_ours(target)
        and (package := target.split(".")[0]) not in sys.stdlib_module_names
        and not is_below(module.name, HOMES.get(_home(target), ()))
    ]


def _home(target: str) -> str:
    """The key of HOMES for an import."""
    package = target.split(".")[0]
    return "llvmlite" if package == "numba" and target not in PUBLIC_NUMBA else package


def too_early(module: Module) -> list[str]:
    """The imports on loading that belong into functions."""
    light = is_below(module.name, LIGHT) or module.name == "sase"
    return [
        f"{module.path}:{line}: {target} belongs into the function that uses it"
        for target, line, when in imports(module)
        if when == "loading"
        and (
            target.split(".")[0] in INSIDE_FUNCTIONS
            or (light and is_ours(target) and part(target) not in LIGHT_IMPORTS)
            or (module.name == "sase" and is_ours(target))
        )
    ]


def locking(module: Module) -> list[str]:
    """The uses of a property of `functools` that has a lock, which a fork may leave locked."""
    return [
        f"{module.path}:{node.lineno}: sase.cached_property has no lock"
        for node in module.nodes
        if _is_locking(node)
    ]


def _is_locking(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(ast.Name("functools"), "cached_property"):
            return True
        case ast.ImportFrom("functools", names):
            return "cached_property" in {each.name for each in names}
    return False


@pytest.mark.parametrize("check", [wrong_directions, upwards, far_from_home, too_early, locking])
def test_the_package_keeps_to_the_rules(check):
    assert [problem for module in modules() for problem in check(module)] == []


def test_there_are_no_circles() -> None:
    assert circles(modules()) == []


def test_no_folders_import_each_other() -> None:
    """In every package there is an order of its folders and modules, as there is of LAYERED."""
    assert circles_of_folders(modules()) == []


def test_the_engine_has_no_loose_files() -> None:
    beside = {path.stem for path in (ROOT / "sase" / "engine").glob("*.py")}
    assert beside == BESIDE
    folders = {path.parent.name for path in (ROOT / "sase" / "engine").glob("*/__init__.py")}
    assert folders == set(ENGINE)


@pytest.mark.parametrize(("package", "layers"), LAYERED.items())
def test_layers_are_all_that_there_is(package: str, layers: list[str]) -> None:
    folder = ROOT / package.replace(".", "/")
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    found = files | {path.parent.name for path in folder.glob("*/__init__.py")}
    assert found - (BESIDE if layers is ENGINE else set()) == set(layers)
    assert len(set(layers)) == len(layers)


def test_the_naive_matcher_shares_only_the_syntax_tree():
    files = sorted((ROOT / "tests" / "naive").rglob("*.py"))
    assert files != []
    targets = {found.target for path in files for found in imports(module(path))}
    assert {part(target) for target in targets if is_ours(target)} <= NAIVE_IMPORTS


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sase.lang.parser", "import sase.binding"),
        ("sase.lang.parser", "from sase.binding.types import Type"),
        ("sase.lang.parser", "from sase import binding"),
        ("sase.lang.parser", "from sase import match"),
        ("sase.lang.parser", "import sase"),
        ("sase.lang.parser", "from ..planning import nodes"),
        ("sase.lang.parser", "from .. import cli"),
        ("sase.lang.parser", "def late():\n    from sase.engine import matcher"),
        ("sase.lang.parser", "if TYPE_CHECKING:\n    from sase.engine import matcher"),
        ("sase.errors", "import sase.lang"),
        ("sase.binding.types", "import sase.planning"),
        ("sase.planning.plan.nodes", "import sase.engine"),
        ("sase.engine.pipeline.matcher", "import sase.spark"),
        ("sase.engine.pipeline.matcher", "import sase.api"),
        ("sase.spark.batch", "import sase.cli.main"),
        ("sase.generate.uniform", "import sase.engine"),
        ("sase.engine.pipeline.matcher", "import sase.generate"),
        ("sase.helpers", ""),
    ],
)
def test_a_wrong_direction_is_found(name, text):
    assert len(wrong_directions(example(text, name))) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sase.engine.kernels.scan.stacks", "from sase.engine.blocks import block"),
        ("sase.engine.operators.negation", "def late():\n    import sase.engine.pipeline.matcher"),
        ("sase.engine.report", "from sase.engine.columns import Events"),
        ("sase.engine.kernels.runs.step", "from sase.engine.kernels.sets import lines"),
        ("sase.engine.kernels.sentinels", "from sase.engine.kernels.scan.stacks import Arrivals"),
        ("sase.engine.kernels.jit.linking", "from sase.engine.kernels import sentinels"),
        ("sase.engine.operators.kleene.runs", "from sase.engine.operators.sets.bindings import A"),
        ("sase.engine.operators.contract", "from sase.engine.operators import negation"),
    ],
)
def test_an_import_of_a_layer_above_is_found(name: str, text: str) -> None:
    assert len(upwards(example(text, name))) == 1
    assert upwards(example(text, "sase.engine.set_results.counted")) == []


@pytest.mark.parametrize(
    "texts",
    [
        {"a": "from sase.b import B", "b": "def late():\n    from sase.a import A"},
        {"a": "from sase.b import B", "b": "if TYPE_CHECKING:\n    from sase.a import A"},
        {"a": "from sase import b", "b": "from sase import c", "c": "from sase import a"},
        {"a": "import sase.b", "b": "import os, sase.a as a"},
        {"a": "import sase.b.c", "b": "from sase.a import A", "b.c": ""},
        {"a": "from . import b", "b": "from .a import A"},
        {"a": "from .b.c import C", "b.c": "from .. import a"},
        {"a": "from sase.b.c import C", "b": "from sase.b.d import D", "b.d": "from sase import a"},
        {"a": "from sase.a.b import B", "a.b": "from sase.a import A"},
    ],
)
def test_a_circle_is_found(texts: dict[str, str]) -> None:
    (found,) = circles(example(text, f"sase.{name}") for name, text in texts.items())
    assert "sase.a" in found
    assert circles([example("from sase.b import B", "sase.a"), example("", "sase.b")]) == []


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        # No circle of modules, but of folders.
        (
            {"a.one": "from sase.b import two", "b.two": "", "b.three": "import sase.a.one"},
            ["sase.a", "sase.b"],
        ),
        (
            {"a.b.one": "from sase.a import two", "a.two": "", "a.three": "import sase.a.b.one"},
            None,
        ),
        (
            {"a.b.one": "from sase.a import two", "a.two": "def f():\n    import sase.a.b.four"},
            ["sase.a.b", "sase.a.two"],
        ),
    ],
)
def test_a_circle_of_folders_is_found(texts: dict[str, str], expected: list[str] | None) -> None:
    folders = ["sase", *{f"sase.{name.rpartition('.')[0]}" for name in texts}, "sase.a"]
    every = [example("", name, is_package=True) for name in dict.fromkeys(folders)]
    every += [example(text, f"sase.{name}") for name, text in texts.items()]
    every.append(example("", "sase.a.b.four"))
    assert circles(every) == []
    assert circles_of_folders(every) == ([] if expected is None else [expected])


def test_relative_imports_of_a_package_count_from_itself():
    assert imports(example("from . import ast", "sase.lang", is_package=True)) == (
        Import("sase.lang", 1, "loading"),
    )
    assert wrong_directions(example("from .. import binding", "sase.lang", is_package=True))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sase.binding.types", "import lark"),
        ("sase.language", "import lark"),
        ("sase.cli.check", "from lark.exceptions import LarkError"),
        ("sase.engine.pipeline.matcher", "import numba"),
        ("sase.engine.pipeline.pipeline", "import pyarrow.compute as pc"),
        ("sase.cli.run", "def run(arguments):\n    import pyspark"),
        ("sase.planning.plan.nodes", "import os, numpy"),
        ("sase.engine.pipeline.matcher", "import left_pad"),
        ("sase.engine.kernels.scan.stacks", "import llvmlite"),
        ("sase.engine.kernels.scan.stacks", "from numba.core import event"),
        ("sase.engine.kernels.scan.stacks", "from numba.extending import intrinsic"),
    ],
)
def test_a_package_far_from_home_is_found(name, text):
    assert len(far_from_home(example(text, name))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "from functools import cached_property",
        "from functools import cache, cached_property as once",
        "import functools\nclass A:\n    @functools.cached_property\n    def b(self): ...",
    ],
)
def test_a_property_with_a_lock_is_found(text: str) -> None:
    assert len(locking(example(text, "sase.planning.cost.cost"))) == 1
    assert locking(example("from sase.cached_property import cached_property", "sase.source")) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sase.planning.cost.cost", "import networkx"),
        ("sase.planning.cost.cost", "class Cost:\n    import networkx"),
        ("sase.cli.check", "from sase.lang.parser import parse_query"),
        ("sase.cli.check", "try:\n    import sase.engine\nfinally:\n    pass"),
        ("sase.cli.check", "if TYPE_CHECKING:\n    pass\nelse:\n    import sase.lang"),
        ("sase.__main__", "import sase.lang"),
        ("sase", "from sase.errors import SaseError"),
    ],
)
def test_an_early_import_is_found(name, text):
    assert len(too_early(example(text, name, is_package=name == "sase"))) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sase.lang.parser", "import lark\nfrom sase.errors import QueryError\nfrom . import ast"),
        ("sase.planning.cost.cost", "def join_order():\n    import networkx"),
        ("sase.cli.check", "from sase import __version__\ndef run(a):\n    import sase.lang"),
        ("sase.cli.check", "if TYPE_CHECKING:\n    from sase.lang import ast"),
        ("sase.cli.check", "if typing.TYPE_CHECKING:\n    from sase.lang import ast"),
        ("sase.engine.kernels.scan", "import numba\nimport numpy as np"),
        ("sase.engine.kernels.jit.linking", "from numba.core.compiler import CompilerBase"),
        ("sase.engine.columns.store", "import pyarrow as pa"),
        ("sase.spark.batch", "from pyspark.sql import DataFrame\nimport sase.engine"),
    ],
)
def test_what_is_allowed_is_not_found(name, text):
    found = example(text, name)
    assert wrong_directions(found) + far_from_home(found) + too_early(found) == []
