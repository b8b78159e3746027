"""Numbers as people say them."""

_ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}


def percent(share: float) -> str:
    """31%; what is not nothing is never called 0%, nor what is not certain 100%."""
    if 0.0 < share < 0.005:
        return "under 1%"
    if 0.995 <= share < 1.0:
        return "over 99%"
    return f"{share:.0%}"


def ordinal(number: int) -> str:
    return _ORDINALS.get(number, f"{number}th")


def counted(number: int, one: str, many: str) -> str:
    """1 coupon, 1,200 coupons."""
    return f"{number:,} {one if number == 1 else many}"


def n_coupons(number: int) -> str:
    return counted(number, "coupon", "coupons")


def n_people(number: int) -> str:
    return counted(number, "person", "people")
