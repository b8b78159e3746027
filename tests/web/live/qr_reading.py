"""Read a QR code as a reader does, from its dark and light modules: the smallest size, letters and digits alone.

A small second implementation of ISO/IEC 18004 for symbols of 21 x 21 modules, whose bits are not interleaved; without
error correction, as the picture has no errors.
"""

import re
from urllib.parse import unquote

SIZE, BORDER = 21, 4
ALPHANUMERIC = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"
FORMAT_MASK = 0b101010000010010
MASKS = (
    lambda i, j: (i + j) % 2 == 0,
    lambda i, j: i % 2 == 0,
    lambda i, j: j % 3 == 0,
    lambda i, j: (i + j) % 3 == 0,
    lambda i, j: (i // 2 + j // 3) % 2 == 0,
    lambda i, j: i * j % 2 + i * j % 3 == 0,
    lambda i, j: (i * j % 2 + i * j % 3) % 2 == 0,
    lambda i, j: ((i + j) % 2 + i * j % 3) % 2 == 0,
)


def modules_of(picture: str) -> list[list[bool]]:
    """Dark modules of a picture that segno drew as lines: M x y, then h (drawn) and m (moved), both relative."""
    svg = unquote(picture.partition(",")[2])
    drawn = next(path for path in re.findall(r"d='([^']*)'", svg) if "h" in path and ".5" in path)
    dark = [[False] * SIZE for _ in range(SIZE)]
    x = y = 0.0
    for command, numbers in re.findall(r"([Mmh])([-\d. ]+)", drawn):
        told = [float(each) for each in re.findall(r"-?[\d.]+", numbers)]
        if command == "h":
            for column in range(int(x), int(x + told[0])):
                dark[int(y) - BORDER][column - BORDER] = True
            x += told[0]
        elif command == "M":
            x, y = told
        else:
            x, y = x + told[0], y + told[1]
    return dark


def read_qr(picture: str) -> tuple[str, str]:
    """The level of error correction, and the text."""
    dark = modules_of(picture)
    places = [(8, column) for column in (0, 1, 2, 3, 4, 5, 7, 8)] + [(row, 8) for row in (7, 5, 4, 3, 2, 1, 0)]
    told = int("".join("01"[dark[row][column]] for row, column in places), 2) ^ FORMAT_MASK
    level, mask = "MLHQ"[told >> 13], MASKS[told >> 10 & 0b111]
    bits = "".join("01"[dark[row][column] ^ mask(row, column)] for row, column in _zigzag())
    assert bits[:4] == "0010", "letters and digits"
    length, bits = int(bits[4:13], 2), bits[13:]
    text = ""
    while len(text) < length - 1:
        pair, bits = int(bits[:11], 2), bits[11:]
        text += ALPHANUMERIC[pair // 45] + ALPHANUMERIC[pair % 45]
    if len(text) < length:
        text, bits = text + ALPHANUMERIC[int(bits[:6], 2)], bits[6:]
    assert bits[:4] in ("0000", "000", "00", "0") or set(bits[:4]) == {"0"}, "and nothing after it"
    return level, text


def _zigzag():
    """Places of the data, two columns at a time from the right, up and down; not those of finder, timing and format."""
    upwards = True
    for right in (20, 18, 16, 14, 12, 10, 8, 5, 3, 1):  # column 6 is the timing pattern
        rows = range(SIZE - 1, -1, -1) if upwards else range(SIZE)
        for row in rows:
            for column in (right, right - 1):
                corner = (row < 9 and (column < 9 or column > 12)) or (row > 12 and column < 9)
                if not corner and row != 6:
                    yield row, column
        upwards = not upwards
