"""Write R's format, for tests: the bytes that `save` and `saveRDS` make of vectors, lists and attributes."""

import gzip
import struct


def _int(number: int) -> bytes:
    return struct.pack(">i", number)


def text(value: str | None) -> bytes:
    if value is None:
        return _int(0x09) + _int(-1)
    content = value.encode()
    return _int(0x09 | (8 << 12)) + _int(len(content)) + content


def symbol(name: str) -> bytes:
    return _int(1) + text(name)


NULL = _int(254)


def pairs(**items: bytes) -> bytes:
    """A chain of names and values; `_` in a name stands for a dot."""
    chain = b"".join(_int(2 | 0x400) + symbol(name.replace("_", ".")) + value for name, value in items.items())
    return chain + NULL


def vector(kind: int, content: bytes, count: int, **attributes: bytes) -> bytes:
    flags = kind | (0x200 if attributes else 0)
    return _int(flags) + _int(count) + content + (pairs(**attributes) if attributes else b"")


def texts(*values: str | None, **attributes: bytes) -> bytes:
    return vector(16, b"".join(map(text, values)), len(values), **attributes)


def integers(*values: int | None, **attributes: bytes) -> bytes:
    numbers = [-(2**31) if value is None else value for value in values]
    return vector(13, b"".join(map(_int, numbers)), len(values), **attributes)


def logicals(*values: bool | None) -> bytes:
    return vector(10, b"".join(_int(-(2**31) if v is None else int(v)) for v in values), len(values))


def reals(*values: float, **attributes: bytes) -> bytes:
    return vector(14, b"".join(struct.pack(">d", value) for value in values), len(values), **attributes)


def factor(levels: list[str], *codes: int | None) -> bytes:
    return integers(*codes, levels=texts(*levels), **{"class": texts("factor")})


def counted(size: int) -> bytes:
    """The numbers from 1 to size, as R writes 1:size in short."""
    kind = _int(2) + symbol("compact_intseq") + _int(2) + symbol("base") + _int(2) + integers(13) + NULL
    return _int(238) + kind + reals(size, 1, 1) + NULL


def call() -> bytes:
    """A call with one argument, as in a formula."""
    return _int(6) + symbol("system") + _int(2) + texts("rm -rf /") + NULL


def table(columns: dict[str, bytes], kinds: tuple[str, ...] = ("data.frame",), **attributes: bytes) -> bytes:
    named = {"names": texts(*columns), "class": texts(*kinds), **attributes}
    return vector(19, b"".join(columns.values()), len(columns), **named)


def rdata(packed: bool = True, **objects: bytes) -> bytes:
    """A file as `save` writes it."""
    content = b"RDX3\nX\n" + _int(3) + _int(0x40301) + _int(0x30500) + _int(5) + b"UTF-8" + pairs(**objects)
    return gzip.compress(content, mtime=0) if packed else content


def rds(item: bytes) -> bytes:
    """A file as `saveRDS` writes it."""
    return gzip.compress(b"X\n" + _int(2) + _int(0x40301) + _int(0x20300) + item, mtime=0)
