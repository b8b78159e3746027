"""Names and reasons that files keep are English whatever the language in use; other people's texts stay as they are."""

from peerfront.foundation.counts import FAMILIES
from peerfront.foundation.messages import in_english, note
from peerfront.models.response.rates import FAMILY_NAMES, RateShape, model_label
from peerfront.words.language import Medium, Speaker, speaking

SHOUTING = Speaker("xx", Medium.TERMINAL, lambda text: f"[{text}]", lambda one, many, n: f"[{one if n == 1 else many}]")


def test_files_keep_english_whatever_is_spoken() -> None:
    label = model_label("zip", RateShape(), None)
    with speaking(SHOUTING):
        assert str(label) == "[[zero-inflated Poisson], [network 64 x 64, softplus]]"
        assert in_english(label) == "zero-inflated Poisson, network 64 x 64, softplus"
        assert in_english("a text of somebody else") == "a text of somebody else"


def test_every_family_has_a_name_in_words() -> None:
    assert [str(FAMILY_NAMES[family]) for family in FAMILIES] == [
        "Poisson",
        "zero-inflated Poisson",
        "negative binomial",
        "zero-inflated negative binomial",
    ]


def test_reasons_follow_each_other() -> None:
    first, then = note("fit_reason.family_asked", family=FAMILY_NAMES["nb"]), note("fit_reason.one_coupon_each")
    both = note("fit_reason.and_then", first=first, then=then)
    assert str(both) == (
        "negative binomial, as asked. Hardly anybody had more than one coupon: what a second one does is a guess."
    )
