"""Stories of what a coupon does, as coordinators read them."""

from peerfront.words.language import Text, say


def story_phrase(story: str) -> Text:
    """The story as it stands after "if": "each coupon is used on its own"."""
    phrases = {
        "capacity": say("one coupon works almost as well as three"),
        "per_coupon": say("each coupon is used on its own"),
        "both": say("people bring a limited number, and use each coupon with some chance"),
    }
    return phrases[story]


def short_story(story: str) -> Text:
    """The same for the legend of a picture."""
    phrases = {
        "capacity": say("first coupons are used first"),
        "per_coupon": say("each coupon is used on its own"),
        "both": say("both are true"),
    }
    return phrases[story]
