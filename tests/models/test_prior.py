"""What is believed before any data: the file of it, and what is refused."""

import re
from pathlib import Path

import numpy as np
import pytest
from test_belief import some_counts

from peerfront.foundation.errors import DataFileError
from peerfront.models.belief.belief_fit import learned_belief
from peerfront.models.belief.prior import Prior, prior_belief

ROOT = Path(__file__).parents[2]


def read(tmp_path, text: str | bytes) -> Prior:
    file = tmp_path / "prior.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    prior = prior_belief("prior_belief", file)
    assert prior is not None
    return prior


def test_the_block_in_the_documents_is_the_usual_prior(tmp_path) -> None:
    page = (ROOT / "docs/explanation/what-a-coupon-does.md").read_text("utf-8")
    (block,) = re.findall(r"^```toml\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    assert read(tmp_path, block) == Prior()
    missing = re.sub(r"\[spur\][^[]*", "", block).replace("drift = 0.1", "")
    assert read(tmp_path, missing) == Prior()
    assert read(tmp_path, block.replace("drift = 0.1", "drift = 0.2")) != Prior()


def test_weights_need_not_sum_to_one_and_impossible_values_go(tmp_path) -> None:
    prior = read(tmp_path, '[limited]\n0 = 1\n"0.5" = 2\n1 = 0\n"1.0" = 5\n"0.9" = 0\n')
    assert prior.limited == ((0.0, 0.125), (0.5, 0.25), (1.0, 0.625))
    assert prior_belief("prior_belief", prior.table()) == prior == prior_belief("prior_belief", prior)
    assert prior_belief("prior_belief", {"spur": {0.5: 3}}) == Prior(spur=((0.5, 1.0),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("limitd = 3", "There is no part of a prior called 'limitd'. Did you mean 'limited'?"),
        ("likely = ['sex']", "There is no part of a prior called 'likely'"),
        ("[limited]\n0 = -1\n1 = 2", "the weight of limited 0 must be a number of at least 0 and at most 1,000; found"),
        ("[limited]\n0 = 0\n1 = 0", "limited: the weights of all values are 0"),
        ('[limited]\n"1.5" = 1', "limited must be a share between 0 and 1; found 1.5"),
        ("[limited]\n0 = 1\nlevel = 2", "limited must be a share between 0 and 1; found 'level'"),
        ('[spur]\n"-0.5" = 1', "spur must be a number of at least 0 and at most 10; found -0.5"),
        ("[spread]\n0 = 1", "spread must be a number above 0 and at most 10; found 0"),
        ("[limited]\n0.25 = 1", 'limited: values with a point need quotation marks: "0.25" = 0.1.'),
        ("[limited]\n0 = 1\n0.25 = 1", "is not correct TOML: Cannot overwrite a value"),
        ("[limited]", "limited must be a table of 1 to 10 values with their weights; found {}"),
        ("limited = 3", "limited must be a table of 1 to 10 values"),
        ("limited = [1, 2]", "limited must be a table of 1 to 10 values"),
        ("[spread]\n" + "\n".join(f"{n} = 1" for n in range(1, 12)), "spread must be a table of 1 to 10 values"),
        ("level = 0", "level must be a number above 0 and at most 100; found 0"),
        ("drift = -0.1", "drift must be a number above 0 and at most 100; found -0.1"),
        ("favour = nan", "favour must be a number above 0 and at most 100; found nan"),
        ("answer = true", "answer must be a number above 0 and at most 100; found True"),
        ("answers_matter = 1", "answers_matter must be a share above 0 and below 1, such as 0.2; found 1"),
        ("hello world", "is not correct TOML"),
        ("x = " + "[" * 5_000, "is not correct TOML"),
        ("a." * 20_000 + "b = 1", "has more than 10,000 bytes: this is no prior"),
        (b"\xff\xfe", "is not correct TOML"),
        (b"", "the file is empty"),
    ],
)  # fmt: skip
def test_bad_files_name_the_key_what_was_found_and_what_is_allowed(tmp_path, text, message) -> None:
    with pytest.raises(DataFileError) as refused:
        read(tmp_path, text)
    assert message in str(refused.value)
    assert "prior.toml" in str(refused.value)


def test_a_belief_keeps_to_its_prior_and_earlier_studies_to_its_values() -> None:
    prior = Prior(limited=((0.4, 1.0),), spur=((0.0, 1.0), (0.3, 1.0)))
    belief = learned_belief(some_counts(), prior, draws=50)
    assert set(belief.limited.tolist()) == {0.4}
    assert set(belief.spur.tolist()) <= {0.0, 0.3}
    given = prior.given([learned_belief(some_counts(), draws=50)], belief.most)
    assert given.limited == ((0.4, 1.0),)
    assert np.isclose(sum(weight for _, weight in given.spur), 1.0)
    assert given.spur[0][1] > prior.spur[0][1], "the earlier study knows 0, and not 0.3"
