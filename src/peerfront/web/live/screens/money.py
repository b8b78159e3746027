"""Amounts as people read them; the records hold them in the smallest unit of the currency."""

from decimal import Decimal

from django.utils.formats import number_format

_DECIMALS = dict.fromkeys(
    ("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF"), 0
) | dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3)
"""Decimal places of currencies (ISO 4217) that do not have two."""


def decimals(currency: str) -> int:
    """Number of decimal places in which a currency is written."""
    return _DECIMALS.get(currency, 2)


def shown_amount(amount: int, currency: str) -> str:
    """Write an amount with its currency, in the reader's language: EUR 20.00, JPY 2,000.

    A blank that does not break keeps the two together.
    """
    places = decimals(currency)
    value = Decimal(amount).scaleb(-places)
    return f"{currency}\u00a0{number_format(value, decimal_pos=places, use_l10n=True, force_grouping=True)}"
