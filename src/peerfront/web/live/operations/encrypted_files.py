"""Encrypted back-ups: a file in chunks, each sealed with AES-256-GCM, under a key that scrypt makes of a secret.

This is the STREAM construction (Hoang, Reyhanitabar, Rogaway and Vizar 2015), as the tool age has it: a chunk's nonce
is its number and whether it is the last, so chunks that were swapped, left out, added or cut off are noticed. The key
is new for every file, because its salt is, so no nonce is used twice. Every chunk also covers the header.

    magic line, log2(N), r, p, salt (16 bytes), check (32 bytes), chunks (64 KiB and a tag of 16 bytes each)

The check is the second half of what scrypt makes. It tells a wrong secret from a damaged file, and binds the file to
one key.
"""

import hmac
import io
import os
import struct
from pathlib import Path
from typing import IO, Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.files import file_bytes
from peerfront.foundation.messages import Remedy

SUFFIX = ".enc"
_MAGIC = b"peerfront encrypted back-up 1\n"
_HEADER = struct.Struct(f">{len(_MAGIC)}sBBB16s")
_CHECK, _TAG = 32, 16
CHUNK = 2**16
COST = 17
"""Log of scrypt's N: with r = 8 it takes 128 MiB and some tenths of a second to try one passphrase."""
_LARGEST_COST = 20  # 1 GiB, so that a forged file cannot take all memory
LEAST = 12
"""Characters of a passphrase, as of a password."""


def _sealer(header: bytes, secret: bytes) -> tuple[AESGCM, bytes]:
    """The cipher of a file with this header, and its check."""
    _, cost, r, p, salt = _HEADER.unpack(header)
    made = Scrypt(salt=salt, length=32 + _CHECK, n=2**cost, r=r, p=p).derive(secret)
    return AESGCM(made[:32]), made[32:]


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])


class EncryptedWriter:
    """A file to be written from beginning to end; `close` seals the last chunk, without which nothing can be read."""

    def __init__(self, file: IO[bytes], secret: bytes) -> None:
        self._file, self._number, self._waiting = file, 0, bytearray()
        self._header = _HEADER.pack(_MAGIC, COST, 8, 1, os.urandom(16))
        self._cipher, check = _sealer(self._header, secret)
        file.write(self._header + check)

    def write(self, content: bytes) -> int:
        self._waiting += content
        while len(self._waiting) > CHUNK:  # a full chunk may be the last
            self._seal(bytes(self._waiting[:CHUNK]), last=False)
            del self._waiting[:CHUNK]
        return len(content)

    def flush(self) -> None:
        """Part of a file; chunks are written when they are full."""

    def close(self) -> None:
        self._seal(bytes(self._waiting), last=True)

    def _seal(self, chunk: bytes, *, last: bool) -> None:
        self._file.write(self._cipher.encrypt(_nonce(self._number, last=last), chunk, self._header))
        self._number += 1


def is_encrypted(path: Path) -> bool:
    """Whether a file is an encrypted back-up."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


class _Decrypted(io.RawIOBase):
    """The content of an encrypted back-up: each part is decrypted in memory when it is read, and never on disk."""

    def __init__(self, path: Path, file: IO[bytes], secret: bytes) -> None:
        self._path, self._file, self._at, self._last_read = path, file, 0, (-1, b"")
        self._header, check = file.read(_HEADER.size), file.read(_CHECK)
        _, cost, r, p, _ = _HEADER.unpack(self._header) if len(check) == _CHECK else (b"", 0, 0, 0, b"")
        if cost > _LARGEST_COST or (r, p) != (8, 1):
            raise self._damaged()
        self._cipher, expected = _sealer(self._header, secret)
        if not hmac.compare_digest(check, expected):
            raise DataFileError("live_backup.wrong_secret", path=path)
        sealed = os.fstat(file.fileno()).st_size - _HEADER.size - _CHECK
        self._chunks = max(1, -(-sealed // (CHUNK + _TAG)))
        self._size = sealed - self._chunks * _TAG
        for number in range(self._chunks):  # before anything is used
            self._chunk(number)

    def _damaged(self) -> DataFileError:
        return DataFileError("live_backup.damaged", path=self._path)

    def _chunk(self, number: int) -> bytes:
        if self._last_read[0] != number:
            self._file.seek(_HEADER.size + _CHECK + number * (CHUNK + _TAG))
            nonce = _nonce(number, last=number == self._chunks - 1)
            try:
                chunk = self._cipher.decrypt(nonce, self._file.read(CHUNK + _TAG), self._header)
            except InvalidTag:
                raise self._damaged() from None
            self._last_read = number, chunk
        return self._last_read[1]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence])
        return self._at

    def readinto(self, buffer: Any) -> int:
        number, within = divmod(self._at, CHUNK)
        part = self._chunk(number)[within : within + len(buffer)] if self._at < self._size else b""
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)

    def close(self) -> None:
        self._file.close()
        super().close()


def decrypted(path: Path, secret: bytes | None) -> IO[bytes]:
    """The content of an encrypted back-up, all of it checked; whoever opens it closes it."""
    if secret is None:
        raise DataFileError("live_backup.encrypted", path=path, remedy=Remedy("key_file", "FILE"))
    file = path.open("rb")
    try:
        return io.BufferedReader(_Decrypted(path, file, secret), CHUNK)
    except BaseException:
        file.close()
        raise


def secret_from(path: Path) -> bytes:
    """The content of a key file, without the line end that editors add."""
    secret = file_bytes(path, most=10_000).rstrip(b"\r\n")
    if len(secret) < LEAST:
        raise DataFileError("live_backup.short_secret", least=LEAST)
    return secret
