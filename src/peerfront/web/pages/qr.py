"""QR codes as pictures in a page."""

import segno


def qr_picture(content: str) -> str:
    """A QR code that holds this text and nothing else, as the address of an SVG picture (`data:`).

    The highest error correction: paper is folded, gets wet, and is photographed in bad light.
    """
    code = segno.make_qr(content, error="h")
    return code.svg_data_uri(border=4, omitsize=True, light="#fff")
