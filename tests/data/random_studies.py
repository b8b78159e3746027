"""Random studies with any names and values that text files can hold."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from peerfront.data.read.listing import USUAL_MISSING
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.study import Study
from peerfront.foundation.recruitment_trees import NOBODY


def _plain(text: str) -> bool:
    """Neither a code for "not known" nor something that a spreadsheet mangled, nor a mark for seeds."""
    return (
        text == text.strip()
        and text != ""
        and text not in USUAL_MISSING
        and "+" not in text
        and text.lower() not in ("seed", "seeds", "0", "-1", "none", "__seed__")
        and not text.endswith(".0")
    )


words = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\u2028\u2029\x85\ufeff"),
    min_size=1,
    max_size=6,
).filter(_plain)


@st.composite
def studies(draw: st.DrawFn) -> Study:
    """Trees of up to a dozen people, whose coupons cover their recruits."""
    ids = draw(st.lists(words, min_size=1, max_size=12, unique=True))
    people = len(ids)
    recruiter = np.array([draw(st.integers(-1, i - 1)) for i in range(people)], dtype=np.int64)
    recruits = np.bincount(recruiter[recruiter != NOBODY], minlength=people)
    issued = recruits + np.array([draw(st.integers(0, 2)) for _ in range(people)])
    order = np.array(draw(st.permutations(range(people))))
    place = np.argsort(order)
    recruiter = np.array([NOBODY if r == NOBODY else place[r] for r in recruiter[order]], dtype=np.int64)
    answers = st.one_of(st.just(""), words)
    columns = {
        f"{name}é {n}": [draw(answers) for _ in ids]
        for n, name in enumerate(draw(st.lists(st.sampled_from("abc"), max_size=2)))
    }
    has_size = draw(st.booleans())
    frame = pd.DataFrame(
        {**({"network.size": [draw(st.sampled_from(["", "3", "12"])) for _ in ids]} if has_size else {}), **columns},
        dtype=object,
        index=range(people),
    )
    return Study(
        source="random",
        format="recruiter",
        place="row",
        settings=ReadSettings(),
        columns={"network_size": ("network.size",)} if has_size else {},
        rows=np.arange(people) + 2,
        ids=np.array(ids, dtype=object)[order],
        recruiter=recruiter,
        seed=recruiter == NOBODY,
        issued=issued[order].astype(np.int64),
        people=frame,
        days=None,
        network_size=None,
        own_coupons=None,
        coupons=None,
        still_open=np.zeros(people, dtype=bool),
        problems=(),
    )
