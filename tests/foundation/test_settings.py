import pytest

from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.settings import Option, Spec

OPTIONS = {"size": Option(int, ""), "rate": Option(float, ""), "files": Option(tuple, ""), "path": Option(str, "")}


def test_a_spec_reads_its_settings() -> None:
    spec = Spec.parse("thing:size=3, rate=.5,files=a+b,path=x y")
    assert spec.read_options(OPTIONS) == {"size": 3, "rate": 0.5, "files": ("a", "b"), "path": "x y"}
    assert Spec.parse(str(spec)) == spec
    assert Spec.parse("thing").read_options({}) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("thing:size", "Cannot read 'size'"),
        ("thing:=3", "Cannot read '=3'"),
        ("thing:size=3.5", "size must be a whole number; found '3.5'"),
        ("thing:rate=fast", "rate must be a number; found 'fast'"),
        ("thing:size=1,size=2", "size is given twice"),
        ("thing:path=a,b.csv", "values cannot contain commas"),
        ("thing:name=a/b", "signs that tables and file names cannot hold"),
        ("thing:name=[/a]", "signs that tables"),
    ],
)
def test_faults_are_named(text, message) -> None:
    with pytest.raises(SettingError, match=message):
        Spec.parse(text).read_options(OPTIONS)


def test_unknown_settings_get_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'rate'"):
        Spec.parse("thing:rat=1").read_options(OPTIONS)
    with pytest.raises(SettingError, match="has no settings"):
        Spec.parse("thing:rate=1").read_options({})
