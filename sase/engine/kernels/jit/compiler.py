"""How kernels are compiled, and where the machine code is kept for the next process."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from types import UnionType
from typing import (
    Annotated,
    Any,
    Generic,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import numba
import numpy as np
from numba import types
from numba.core import event
from numba.core.caching import FunctionCache
from numpy.typing import NDArray

from sase.engine.kernels.jit.linking import (
    ROOM,
    KernelCompiler,
    PartCompiler,
    address_in,
    called_at,
    told_at,
)

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

Function = TypeVar("Function", bound=Callable[..., Any])
Told = TypeVar("Told")


class Layout(NamedTuple):
    """The exact type of an array argument: contiguous, and written to or not."""

    dtype: str
    dimensions: int
    writable: bool = False


# A read-only parameter takes writable arrays too, but not inside a tuple: see `frozen`.
Ints = Annotated[NDArray[np.int64], Layout("int64", 1)]
IntRows = Annotated[NDArray[np.int64], Layout("int64", 2)]
Floats = Annotated[NDArray[np.float64], Layout("float64", 1)]
FloatRows = Annotated[NDArray[np.float64], Layout("float64", 2)]
Bytes = Annotated[NDArray[np.uint8], Layout("uint8", 1)]
ByteRows = Annotated[NDArray[np.uint8], Layout("uint8", 2)]
Codes = Annotated[NDArray[np.int16], Layout("int16", 1)]
Flags = Annotated[NDArray[np.bool_], Layout("bool_", 1)]
FlagRows = Annotated[NDArray[np.bool_], Layout("bool_", 2)]
OutInts = Annotated[NDArray[np.int64], Layout("int64", 1, writable=True)]
OutFloats = Annotated[NDArray[np.float64], Layout("float64", 1, writable=True)]
OutBytes = Annotated[NDArray[np.uint8], Layout("uint8", 1, writable=True)]
OutIntRows = Annotated[NDArray[np.int64], Layout("int64", 2, writable=True)]
OutIntCubes = Annotated[NDArray[np.int64], Layout("int64", 3, writable=True)]
OutFlags = Annotated[NDArray[np.bool_], Layout("bool_", 1, writable=True)]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A contiguous read-only view: inside a tuple Numba takes nothing else for a read-only one."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


# ---------------------------------------------------------------- the decorators


def kernel(function: Function, *, absent: Sequence[str] = ()) -> Function:
    """Compile on the first call, or load what an earlier process compiled.

    The signature is that of the annotations if they all say what they are exactly; otherwise
    Numba takes it from the arguments. Of parameters that may be None several kernels can be made:
    where one is `absent` what it would do is not in the machine code, in the others it is always
    there.
    """
    if numba.config.DISABLE_JIT:
        return function
    compiled: Any = _jitted(function, no_cfunc_wrapper=True, pipeline_class=KernelCompiler)
    with _cache_folder():
        compiled._cache = _Kept(function)
    _announce_compilation()
    compiled._compile_for_args = _with_signature(compiled, absent)
    return compiled  # type: ignore[no-any-return]


def distant(function: Callable[..., Any], *, absent: Sequence[str] = ()) -> Callable[..., Any]:
    """What calls a kernel from others by its address, which comes before the arguments.

    The kernel is no part of those then, and compiled by whoever asks where it is.
    """
    if numba.config.DISABLE_JIT:
        return lambda address, *arguments: function(*arguments)
    arguments, result = signature(function, absent), get_type_hints(function)["return"]
    assert arguments is not None, "a distant kernel says exactly what it takes"
    return called_at(arguments, _numba_type(result))


@cache
def address_of(function: Any) -> int:
    """Where a kernel is, for those that call it by its address."""
    if numba.config.DISABLE_JIT:
        return 0
    function._compile_for_args()
    (compiled,) = function.overloads.values()
    return address_in(compiled)


def told(kind: Callable[..., Told]) -> Callable[[int], Told]:
    """What finds, in a kernel, the tuple of a kind that is told to it by its address."""
    if numba.config.DISABLE_JIT:
        return lambda address: address  # type: ignore[return-value]
    return told_at(_numba_type(kind))


class Place(Generic[Told]):
    """Where a tuple lies that is told to kernels by its address; `put` is a kernel that puts it."""

    def __init__(self, put: Callable[[int, Told], None]) -> None:
        self._room, self._put = np.zeros(ROOM, np.int64), put
        self._address = self._room.ctypes.data

    def of(self, value: Told) -> int:
        """Where a tuple lies from now on; its arrays live as long as the place does."""
        self._held = value
        if numba.config.DISABLE_JIT:
            return value  # type: ignore[return-value]
        self._put(self._address, value)
        return self._address


def part(function: Function) -> Function:
    """A part of kernels: compiled with those that call it, and cached with them."""
    return _part(function)


def spliced(function: Function) -> Function:
    """A large part of kernels, put into the machine code of its callers: no call by call costs."""
    return _part(function, forceinline=True)


def _part(function: Function, **options: Any) -> Function:
    compiled: Any = _jitted(
        function,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        pipeline_class=PartCompiler,
        **options,
    )
    if not numba.config.DISABLE_JIT:
        called = compiled.get_call_template

        def called_with(arguments: Sequence[Any], named: dict[str, Any]) -> Any:
            """Compile for integers, and not anew for every literal."""
            return called(tuple(types.unliteral(each) for each in arguments), named)

        compiled.get_call_template = called_with
    return compiled  # type: ignore[no-any-return]


def _jitted(function: Function, **options: Any) -> Function:
    if numba.config.DISABLE_JIT:
        return function
    return numba.njit(nogil=True, error_model="numpy", _nrt=False, **options)(function)  # type: ignore[no-any-return]


def _with_signature(compiled: Any, absent: Sequence[str]) -> Callable[..., Any]:
    """What a dispatcher calls to compile for the arguments it is given: only for these.

    Which they are is found out then, as few of all kernels are called.
    """
    lock, for_values = Lock(), compiled._compile_for_args

    def compile_once(*values: Any) -> Any:
        with lock:
            arguments = signature(compiled.py_func, absent)
            if arguments is None:
                return for_values(*values)
            if arguments not in compiled.overloads:
                with _alone(compiled), _nothing_collected():
                    compiled.compile(arguments)
            # From now on arguments are converted, writable arrays to read-only ones, or refused.
            compiled.disable_compile()
        return compiled

    return compile_once


# ---------------------------------------------------------------- signatures


def signature(function: Callable[..., Any], absent: Sequence[str] = ()) -> tuple[Any, ...] | None:
    """The Numba types of the parameters, if the annotations are exact."""
    hints = get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    found = tuple(
        types.none if name in absent else _numba_type(hint) for name, hint in hints.items()
    )
    return None if None in found else found


def _numba_type(hint: Any) -> Any:
    simple = {int: types.int64, float: types.float64, bool: types.boolean, type(None): types.none}
    if hint in simple:
        return simple[hint]
    if isinstance(hint, UnionType):
        return _numba_type(get_args(hint)[0])
    if get_origin(hint) is tuple:
        return types.BaseTuple.from_types([_numba_type(each) for each in get_args(hint)])
    for layout in get_args(hint)[1:]:
        if isinstance(layout, Layout):
            data_type = getattr(types, layout.dtype)
            return types.Array(data_type, layout.dimensions, "C", readonly=not layout.writable)
    if not hasattr(hint, "_fields"):
        return None
    fields = [_numba_type(each) for each in get_type_hints(hint, include_extras=True).values()]
    return None if None in fields else types.BaseTuple.from_types(fields, hint)


# ---------------------------------------------------------------- the cache


class _Kept(FunctionCache):  # type: ignore[misc]
    """The machine code of a kernel, as earlier processes compiled it.

    Numba prepares for compiling before it looks whether it has to, and that takes ten times as long
    as to load all kernels of a query.
    """

    def load_overload(self, arguments: Any, context: Any) -> Any:
        """What was kept, or None: then Numba compiles, and prepares for that."""
        with self._guard_against_spurious_io_errors():
            return self._load_overload(arguments, context)


# The folder of all kernels, and the package that they are in.
KERNELS = Path(__file__).parents[1]
PACKAGE = __package__.rpartition(".")[0]
TEMPORARY = "sase-kernels-"


@contextmanager
def _cache_folder() -> Iterator[None]:
    """Numba reads where a function is cached when its cache is made."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_folder())
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


@cache
def _folder() -> Path:
    """Where this version of the kernels is kept: in the package, or else with the user's caches."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    bases = [KERNELS / "__pycache__", home / "sase"]
    if os.environ.get("NUMBA_CACHE_DIR"):
        bases = [Path(os.environ["NUMBA_CACHE_DIR"])]
    name = f"kernels-{_fingerprint()}"
    usable = next((base / name for base in bases if _is_writable(base / name)), None)
    return usable or _temporary_folder(bases)


def _fingerprint() -> str:
    """Of all kernels and how they are compiled: Numba looks at the file of each kernel alone."""
    flags = (numba.config.BOUNDSCHECK, numba.config.OPT, numba.config.DEBUGINFO_DEFAULT)
    found = sha256(repr((numba.__version__, np.__version__, flags)).encode())
    for path in sorted(KERNELS.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _temporary_folder(bases: list[Path]) -> Path:
    folder, owner = tempfile.mkdtemp(prefix=TEMPORARY), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # and not in a process that was forked from it
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    tried = " and ".join(str(base) for base in bases)
    _say(
        f"compiled kernels are not kept: {tried} cannot be written (NUMBA_CACHE_DIR names another)"
    )
    return Path(folder)


def is_kept(compiled: Any) -> bool:
    """Whether a kernel was compiled by any process of this installation, or cannot be kept."""
    if compiled.overloads:
        return True
    index = compiled._cache._cache_file._index_path
    return os.path.exists(index) or _folder().name.startswith(TEMPORARY)


@contextmanager
def _alone(compiled: Any) -> Iterator[None]:
    """Only one process compiles a kernel: those that wait load what it kept.

    A Spark job's tasks and a suite's workers ask for the same kernels at the same time. The lock
    ends with the process that holds it; where locks are not to be had, each compiles for itself.
    """
    name = f"{compiled.py_func.__module__}.{compiled.py_func.__qualname__}.lock"
    with (_folder() / name).open("w") as file:
        if fcntl is not None:
            with suppress(OSError):  # of a file system that has no locks
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Without garbage collection, which takes a twelfth of the time of compiling and finds little.

    Of threads that compile at the same time the first one turns it on again.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


# ---------------------------------------------------------------- what the user is told


class _Announcement(event.Listener):  # type: ignore[misc]
    """Says once that kernels are being compiled, and counts; those loaded make no event."""

    said, count = False, 0

    def on_start(self, event: Any) -> None:
        self.count += 1
        if event.data["dispatcher"].py_func.__module__.startswith(PACKAGE):
            self.say()

    def say(self) -> None:
        """Say it, once."""
        if not self.said:
            _say("compiling kernels, once per installation …")
            self.said = True

    def on_end(self, event: Any) -> None:
        pass


@cache
def _announce_compilation() -> _Announcement:
    announcement = _Announcement()
    event.register("numba:compile", announcement)
    return announcement


def say_compiling() -> None:
    """Say that kernels are being compiled, by another process, unless it was said."""
    _announce_compilation().say()


def compilations() -> int:
    """How much has been compiled in this process: what is loaded does not count."""
    return 0 if numba.config.DISABLE_JIT else _announce_compilation().count


def _say(line: str) -> None:
    print(f"sase: {line}", file=sys.stderr)
