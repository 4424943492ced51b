"""Files of other machines: object stores by Arrow, other addresses by fsspec."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from fnmatch import fnmatchcase
from functools import lru_cache
from glob import has_magic
from typing import Any, Literal, NamedTuple, TypeAlias

import pyarrow as pa

from sase.errors import DataError, SchemaError

_ADDRESS = re.compile(r"([A-Za-z][\w+.-]+)://(?=.)")
# Schemes of the object stores that Arrow reads, and of web servers, which list no files.
S3, GCS, HTTP = ("s3", "s3a", "s3n"), ("gs", "gcs"), ("http", "https")
ANONYMOUS = "anonymous@"
# Seconds to wait for a server, and how long requests of Google's library are tried again.
WAIT, RETRIED = 30, timedelta(seconds=20)
# Texts in messages of Arrow and of servers, by cause.
_DENIED = re.compile(
    r"ACCESS_DENIED|PERMISSION_DENIED|UNAUTHENTICATED|Forbidden|HTTP status 40[13]"
)
_NO_BUCKET = re.compile(r"NO_SUCH_BUCKET|[Bb]ucket does not exist")
_NO_ANSWER = re.compile(
    r"NETWORK_CONNECTION|UNAVAILABLE|[Cc]annot connect|[Cc]ould ?n[o']t (?:connect|resolve)"
    r"|Connection|Name or service|timed? ?out|DEADLINE"
)
_CREDENTIALS = {
    **dict.fromkeys(
        S3, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, and for a public"
        " bucket say  s3://anonymous@bucket/…"
    ),
    **dict.fromkeys(
        GCS, "set GOOGLE_APPLICATION_CREDENTIALS, and for a public bucket say "
        " gs://anonymous@bucket/…"
    ),
    **dict.fromkeys(HTTP, "name an address that needs no login, such as a signed one"),
}  # fmt: skip
_ENDPOINTS = {
    **dict.fromkeys(S3, ", AWS_ENDPOINT_URL"),
    **dict.fromkeys(GCS, ", STORAGE_EMULATOR_HOST"),
}

# The size and a mark that changes with the content.
Stamp: TypeAlias = tuple[int, int | str]
Kind: TypeAlias = Literal["file", "folder"] | None


class Place(NamedTuple):
    """A file system, and a path there."""

    system: Any
    path: str


class Entry(NamedTuple):
    """An address at which a file system has a file, a folder or nothing."""

    kind: Kind
    stamp: Stamp = (-1, 0)
    # Whether parts of a file can be read.
    has_parts: bool = True


def is_remote(path: str) -> bool:
    """Whether a path is an address such as s3://bucket/key, and no local file has this name."""
    return _ADDRESS.match(path) is not None and not os.path.exists(path)


def scheme_of(path: str) -> str:
    """The scheme of an address in small letters; empty for a local path."""
    found = _ADDRESS.match(path)
    return "" if found is None else found[1].lower()


def plain_name(path: str) -> str:
    """A path without the part behind `?` of an address of a web server."""
    return re.split(r"[?#]", path, maxsplit=1)[0] if scheme_of(path) in HTTP else path


# ---------------------------------------------------------------- file systems


def place_of(path: str) -> Place:
    """The file system and the path of an address, or of a local path."""
    from pyarrow import fs  # slow; not needed for tables

    if not is_remote(path):
        return Place(fs.LocalFileSystem(), path)
    scheme, rest = scheme_of(path), path[path.index("://") + 3 :]
    is_anonymous = rest.startswith(ANONYMOUS)
    rest = rest.removeprefix(ANONYMOUS)
    with reported(path):
        if scheme in S3:
            return Place(_s3(rest.partition("/")[0], is_anonymous, _settings()), rest)
        if scheme in GCS:
            emulator = os.environ.get("STORAGE_EMULATOR_HOST")
            return Place(_gcs(is_anonymous, emulator), rest)
    system, inner = _by_fsspec(path)
    return Place(fs.PyFileSystem(_guarding_handler(system)), inner)


def _settings() -> tuple[tuple[str, str], ...]:
    """The environment of Amazon's library, which reads it when a file system is made."""
    return tuple(sorted(each for each in os.environ.items() if each[0].startswith("AWS_")))


@lru_cache(maxsize=16)
def _s3(bucket: str, is_anonymous: bool, settings: tuple[tuple[str, str], ...]) -> Any:
    from pyarrow import fs

    known = dict(settings)
    region = known.get("AWS_REGION") or known.get("AWS_DEFAULT_REGION")
    endpoint = known.get("AWS_ENDPOINT_URL_S3") or known.get("AWS_ENDPOINT_URL")
    if region is None and endpoint is None:
        try:
            region = fs.resolve_s3_region(bucket)
        except OSError as problem:
            if _NO_ANSWER.search(str(problem)) or "not found" in str(problem):
                raise
    retries = fs.AwsStandardS3RetryStrategy(max_attempts=3)
    return fs.S3FileSystem(
        anonymous=is_anonymous,
        region=region,
        endpoint_override=endpoint,
        retry_strategy=retries,
        request_timeout=WAIT,
    )


@lru_cache(maxsize=4)
def _gcs(is_anonymous: bool, emulator: str | None) -> Any:
    from pyarrow import fs

    scheme, _, host = (emulator or "").rpartition("://")
    return fs.GcsFileSystem(
        anonymous=is_anonymous or emulator is not None,
        scheme=(scheme or "http") if emulator else "https",
        endpoint_override=host or None,
        retry_time_limit=RETRIED,
    )


def _by_fsspec(path: str) -> tuple[Any, str]:
    """The file system that fsspec has for a scheme, and the path there."""
    scheme = scheme_of(path)
    try:
        import fsspec  # type: ignore[import-untyped, unused-ignore]
        from fsspec.registry import known_implementations
    except ImportError as problem:
        raise DataError(
            f"{path}: {scheme}:// is read by the library fsspec: install it, as with  pip install"
            " 'sase[remote]'"
        ) from problem
    if scheme not in known_implementations and scheme not in fsspec.available_protocols():
        raise DataError(
            f"{path}: fsspec knows no scheme {scheme}://: it reads, for example, s3://, gs://,"
            " https://, abfs://, hdfs:// and sftp://"
        )
    try:
        with reported(path):
            system, inner = fsspec.core.url_to_fs(path)
    except ImportError as problem:
        raise DataError(f"{path}: {scheme}:// needs another library: {problem}") from problem
    return system, inner


def _guarding_handler(system: Any) -> Any:
    """Arrow's handler for a file system of fsspec; libraries raise errors that no OSErrors are."""
    from pyarrow import fs

    # Libraries for servers would read megabytes around every part.
    options = {"cache_type": "none"} if system.async_impl else {}

    class Handler(fs.FSSpecHandler):  # type: ignore[misc]
        def open_input_file(self, path: str) -> pa.PythonFile:
            return pa.PythonFile(_GuardedFile(self.fs.open(path, mode="rb", **options)), mode="r")

        open_input_stream = open_input_file

    return Handler(system)


class _GuardedFile(io.RawIOBase):
    """A file of fsspec that raises only errors of the operating system."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def _call(self, name: str, *values: int) -> Any:
        try:
            return getattr(self._file, name)(*values)
        except OSError:
            raise
        except Exception as problem:  # of any library
            raise OSError(str(problem) or type(problem).__name__) from problem

    def read(self, size: int = -1, /) -> bytes:
        """Read up to `size` bytes."""
        data: bytes = self._call("read", size)
        return data

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move to a place."""
        place: int = self._call("seek", offset, whence)
        return place

    def tell(self) -> int:
        """The place in the file."""
        place: int = self._call("tell")
        return place

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def seekable(self) -> bool:
        """Whether places can be chosen."""
        return bool(self._call("seekable"))

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._call("close")
        super().close()


# ---------------------------------------------------------------- errors


@contextmanager
def reported(path: str) -> Iterator[None]:
    """Convert errors of file systems and libraries to ours, with a remedy."""
    try:
        yield
    except (DataError, SchemaError, ImportError):
        raise
    except Exception as problem:  # of any library
        raise explained(path, problem) or DataError(
            f"{path} cannot be read: {_first_line(problem)}: check the address, the credentials and"
            " the network"
        ) from problem


def explained(path: str, problem: BaseException) -> DataError | None:
    """The error for a place that cannot be read, if an exception says why; else None."""
    scheme, message = scheme_of(path), str(problem)
    code = getattr(problem, "code", getattr(problem, "status", None))  # of urllib, of aiohttp
    host = path[path.find("://") + 3 :].removeprefix(ANONYMOUS).partition("/")[0]
    if code in (401, 403) or isinstance(problem, PermissionError) or _DENIED.search(message):
        remedy = _CREDENTIALS.get(scheme, "check the credentials that fsspec takes")
        return DataError(f"{path}: access is denied: {remedy}")
    if _NO_BUCKET.search(message):
        return _no_bucket(path, host)
    if code in (404, 410) or isinstance(problem, FileNotFoundError):
        return DataError(f"{path}: there is no such file: check the address")
    if code is not None:
        return DataError(f"{path}: the server answers {code}: check the address, or try later")
    if isinstance(problem, ConnectionError | TimeoutError) or _NO_ANSWER.search(message):
        where = _ENDPOINTS.get(scheme, "")
        return DataError(
            f"{path}: the server does not answer ({_first_line(problem)}): check the"
            f" address{where} and the network"
        )
    return None


def _no_bucket(path: str, bucket: str) -> DataError:
    where = _ENDPOINTS.get(scheme_of(path), "")
    return DataError(f"{path}: there is no bucket `{bucket}`: check its name{where}")


def _first_line(problem: BaseException) -> str:
    """The first line of an exception; of those of Arrow, which are long, the last part."""
    line = (str(problem).splitlines() or [type(problem).__name__])[0]
    return line.rpartition(" operation: ")[2].removesuffix(".")


# ---------------------------------------------------------------- files and folders


def entry(path: str) -> Entry:
    """Ask a file system about an address."""
    scheme = scheme_of(path)
    with reported(path):
        if scheme in HTTP:
            return _web_file(path)
        place = place_of(path)
        if scheme in (*S3, *GCS):
            return _entry_of(place.system.get_file_info(place.path))
        try:
            found = place.system.handler.fs.info(place.path)
        except FileNotFoundError:
            return Entry(None)
        marks = (found.get(name) for name in ("ETag", "etag", "LastModified", "mtime", "created"))
        mark = next((str(each) for each in marks if each), "")
        kind: Kind = "folder" if found["type"] == "directory" else "file"
        return Entry(kind, (found.get("size") or 0, mark))


def _entry_of(found: Any) -> Entry:
    from pyarrow import fs

    if found.type == fs.FileType.NotFound:
        return Entry(None)
    kind: Kind = "folder" if found.type == fs.FileType.Directory else "file"
    return Entry(kind, (found.size or 0, found.mtime_ns or 0))


def _web_file(path: str) -> Entry:
    """Ask a web server for the first byte of a file; it may send the whole, which is not read."""
    from urllib.request import Request, urlopen

    if re.search(r"\s", path):
        shown = re.sub(r"(?<=://)[^/?#]*@", "…@", path)
        raise DataError(f"{shown}: a web address has no blanks: write  %20  for each")
    asked = Request(path, headers={"Range": "bytes=0-0", "Accept-Encoding": "identity"})
    try:
        with urlopen(asked, timeout=WAIT) as answer:
            headers = answer.headers
            has_parts = answer.status == 206
            whole = headers.get("Content-Range", "").rpartition("/")[2] if has_parts else ""
            size = whole or headers.get("Content-Length") or "-1"
            mark = headers.get("ETag") or headers.get("Last-Modified") or ""
    except OSError as problem:
        code = getattr(problem, "code", None)
        if code is not None:
            problem.close()  # type: ignore[attr-defined]
        if code == 416:  # the file has no first byte
            return Entry("file", (0, ""))
        if code in (404, 410):
            return Entry(None)
        raise
    return Entry("file", (int(size) if size.lstrip("-").isdigit() else -1, mark), has_parts)


def stamp(path: str) -> Stamp:
    """Return the size and modification time of a file, to detect changes."""
    if is_remote(path):
        found = entry(path)
        if found.kind != "file":
            raise DataError(f"{path} is not there any more")
        return found.stamp
    try:
        status = os.stat(path)
    except FileNotFoundError as problem:
        raise DataError(f"{path} is not there any more") from problem
    except OSError as problem:
        raise DataError(f"{path} cannot be read: {problem.strerror}") from problem
    return status.st_size, status.st_mtime_ns


def missing(path: str) -> DataError:
    """The error for an address at which nothing is."""
    scheme = scheme_of(path)
    if scheme in (*S3, *GCS):
        place = place_of(path)
        bucket = place.path.partition("/")[0]
        with reported(path):
            if _entry_of(place.system.get_file_info(bucket)).kind is None:
                return _no_bucket(path, bucket)
    if has_magic(plain_name(path)):
        if scheme in HTTP:
            return DataError(f"{path}: a web server lists no files: name one without a pattern")
        return DataError(f"{path}: no file matches this pattern")
    return DataError(f"{path}: there is no such file or folder: check the address")


def below(folder: str, *, is_recursive: bool = True) -> list[tuple[str, Kind]]:
    """The addresses of the files and folders in a folder, and of those below."""
    from pyarrow import fs

    place = place_of(folder)
    # Arrow lists no folders of this store that only the names of files have.
    is_flat = scheme_of(folder) in GCS and not is_recursive
    with reported(folder):
        if isinstance(place.system, fs.PyFileSystem):
            place.system.handler.fs.invalidate_cache()
        chosen = fs.FileSelector(
            place.path, allow_not_found=True, recursive=is_recursive or is_flat
        )
        infos = place.system.get_file_info(chosen)
    length = len(place.path.rstrip("/"))
    start = folder.rstrip("/")
    found = {start + info.path.rstrip("/")[length:]: _entry_of(info).kind for info in infos}
    for path in list(found) if is_flat else ():
        head, slash, _ = path[len(start) + 1 :].partition("/")
        if slash:
            del found[path]
            found[f"{start}/{head}"] = "folder"
    return sorted(found.items())


def matched(pattern: str) -> list[str]:
    """The addresses of the files that a pattern matches."""
    scheme, rest = pattern[: pattern.index("://") + 3], pattern[pattern.index("://") + 3 :]
    parts = rest.split("/")
    fixed = next((n for n, part in enumerate(parts) if has_magic(part)), len(parts))
    if not 0 < fixed < len(parts):  # no pattern, or one of buckets
        return []
    return sorted(set(_expanded(scheme + "/".join(parts[:fixed]), parts[fixed:])))


def _expanded(folder: str, parts: Sequence[str]) -> Iterator[str]:
    """Yield the files below a folder by a pattern for each further part; `**` is any number."""
    first, *rest = parts
    if first == "**":
        yield from _expanded(folder, rest or ["*"])
    for each, kind in below(folder, is_recursive=False):
        name = each.rpartition("/")[2]
        if first == "**" and kind == "folder" and not name.startswith((".", "_")):
            yield from _expanded(each, parts)
        elif fnmatchcase(name, first) and (kind == "folder") == bool(rest):
            yield from _expanded(each, rest) if rest else (each,)
