"""Stories of what a coupon does, as coordinators read them."""

from peerfront.foundation.messages import Message
from peerfront.study.stories import STORY_CODES
from peerfront.words.language import Text, say
from peerfront.words.messages import text_of


def story_phrase(story: str) -> Text:
    """The story as a clause after "if": "each coupon is used on its own"."""
    return text_of(Message(STORY_CODES[story]))


def short_story(story: str) -> Text:
    """The story in a few words, for the legend of a picture."""
    phrases = {
        "capacity": say("first coupons are used first"),
        "per_coupon": say("each coupon is used on its own"),
        "motivate": say("more coupons motivate"),
    }
    return phrases[story]
