"""Survey apps, RDSAT and schema files that are hostile."""

import json
from collections.abc import Iterator

from hostile.making import ARABIC_3, HUGE, TABLE, case
from hostile.runner import Case


def record(**changed: object) -> str:
    """Two records of a survey app; the second one is changed."""
    first = {"surveyCode": "a", "parentSurveyCode": "__SEED__", "childSurveyCodes": ["b", "c"], "responses": {"q": "x"}}
    second = {"surveyCode": "b", "parentSurveyCode": "a", "childSurveyCodes": [], "responses": {"q": "y"}}
    return json.dumps([first, {**second, **changed}])


JSON = {
    record(): "2",
    "1": "!",
    '"a"': "!",
    "null": "!",
    "true": "!",
    "NaN": "!",
    "[]": "!expected a list",
    "{}": "!no 'surveyCode'",
    "[[]]": "!expected a list",
    "[1]": "!expected a list",
    "[null]": "!expected a list",
    "[{}]": "!no 'surveyCode'",
    "[": "!not correct JSON",
    "[" * 100_000: "!nested too deeply",
    "[" * 9_000 + "]" * 9_000: "!nested too deeply",
    '{"a":' * 100_000: "!nested too deeply",
    record() + "x": "!Extra data",
    record(surveyCode=None): "!The id is empty",
    record(surveyCode={"x": 1}): "!a text or a whole number",
    record(surveyCode=[1]): "!a text or a whole number",
    record(surveyCode=True): "!a text or a whole number",
    record(surveyCode=1.5): "!a text or a whole number",
    record(surveyCode=7): "2",
    record().replace('"b", "par', '1e999, "par'): "!1e999 is too large",
    record().replace('"b", "par', 'NaN, "par'): "!The id is empty",
    record().replace('"y"', "NaN"): "2",
    record().replace('"y"', "Infinity"): "!Infinity is not a number",
    record().replace('"y"', HUGE): "!thousands of digits",
    record(surveyCode="\ud800"): "!half of a character",
    record(responses={"\udc00": "x"}): "!half of a character",
    record(surveyCode="\U0001f600"): "2",
    record(childSurveyCodes=5): "!must be a list of codes",
    record(childSurveyCodes="xyz"): "!must be a list of codes",
    record(childSurveyCodes=[["x"]]): "!a text or a whole",
    record(childSurveyCodes=["c"] * 1_001): "!at most 1,000",
    record(responses=5): "!a set of answers",
    record(responses={"q": [[["x"]]]}): "!lists of lists",
    record(responses={"q": ["x", "y"]}): "2",
    record(responses={"q": {"r": 1}}): "2",
    record(responses={"$x$": "[/x]", "": "", " ": "x"}): "2",
    record(createdAt="0224-01-05"): "not understood as a date",
    record(createdAt={"x": 1}): "not understood",
    record(createdAt=1e300): "not understood",
    record(deletedAt="yes"): "deleted",
    record(parentSurveyCode="z"): "!is not in",
    record(parentSurveyCode=None): "2",
    record(parentSurveyCode="b"): "!their own recruiter",
    record().replace('"surveyCode": "b"', '"surveyCode": "b", "surveyCode": "q"'): "!'surveyCode' twice",
    '{"x": 1}': "!no 'surveyCode'",
    '{"a": [], "b": [1]}': "!no 'surveyCode'",
    record().replace('"y"', '"\\u0000"'): "",
    record().replace('"y"', '"\\u001b[31m"'): "\\x1b[31m",
    "\ufeff" + record(): "2",
}
RDSAT = {
    "RDS\n2 2 0 sex\n1 5 0 11 12 f\n2 5 11 21 22 m": "2",
    "RDS": "!needs a second line",
    "RDS\n\n": "!line 2",
    "RDS\n1 1000000000 0\n1 5 0": "!at most 1,000",
    "RDS\n1 10000000 0\n1 5 0": "!at most 1,000",
    "RDS\n1 999999999999999999 0\n1 5 0": "!line 2",
    "RDS\n1 1e9 0\n1 5 0": "!line 2",
    "RDS\n1 -1 0\n1 5": "!line 2",
    f"RDS\n{HUGE} 3 0\n1 5 0 1 2 3": "!line 2",
    f"RDS\n1 {ARABIC_3} 0\n1 5 0 1 2 3": "!line 2",
    "RDS\n1.5 3 0\n1": "!line 2",
    "RDS\r2 2 0 sex\r1 5 0 11 12 f\r2 5 11 21 22 m\r": "2",
    "rds\n2 2 0 $x$\n1 5 0 11 12 [b]\n2 5 11 21 22 m": "[b]",
    "RDS\n2 2 0 sex\n1 -5 0 11 12 f\n2 1e308 11 21 22 m": "not a number from 0",
    "RDS\n1 3\n1 5 0 1 2 3": "!line 2",
    "RDS\n1 1 0 id\n1 5 0 1 x": "!stands twice or is reserved",
    "RDS\n1 1 0 a a\n1 5 0 1 x y": "!stands twice",
    "RDS\n9 2 0 sex\n1 5 0 11 12 f\n2 5 11 21 22 m": "announces 9 people",
    "RDS\n1 2 0 sex\n1 5 0 11 12": "!line 3",
    "RDS\n1 2 0": "!nobody below line 2",
    "RDS\n1 0 0 sex\n1 5 0 f": "1",
    "RDS\0": "!NUL",
    "RDS\n1 1 0 " + "x" * 200_000 + "\n1 5 0 1 f": "1",
    "RDS\n1 1 0 " + " ".join(f"v{n}" for n in range(10_001)) + "\n1 5 0 1": "!may have 10,000",
}


def other_formats() -> Iterator[Case]:
    for number, (content, expected) in enumerate(JSON.items()):
        yield case("JSON", f"{number} {content[-60:]}", expected, "check", "study", "--format", "app", study=content)
    for number, (content, expected) in enumerate(RDSAT.items()):
        yield case("RDSAT", f"{number} {content[:60]}", expected, "check", "study", "--format", "rdsat", study=content)


FIELD = "[[field]]\nname = 'sex'\n"
SCHEMAS = {
    FIELD + "categories = ['f', 'm']": "2 categories",
    "": "!the file is empty",
    "x": "!not a correct schema",
    "[[[": "!not a correct schema",
    "x = 1": "!no setting",
    "a = " + "[" * 100_000: "!nested too deeply",
    "a = " + "{a=" * 5_000: "!nested too deeply",
    "a = 0001-99-99": "!not a correct schema",
    f"a = {HUGE}": "!not a correct schema",
    "a = 1\na = 2": "!not a correct schema",
    "\x1b[31m = 1": "!not a correct schema",
    'exclude = ["\\ud800"]': "!not a correct schema",
    "field = 1": "![[field]]",
    "field = [1]": "![[field]]",
    "exclude = 1": "!a list of texts",
    "exclude = ['nope']": "!no column to exclude",
    "exclude = ['[/x]']": "!'[/x]'",
    "[file]\nformat = 1": "!a text in quotation marks",
    "[file]\nformat = '[/x]'": "!'[/x]'",
    "[file]\nmissing = 'x'": "!a list of texts",
    "[file]\ncoupons_each = 1e9": "!at most 1,000",
    "[file]\ncoupons_each = nan": "!found nan",
    "[file]\ncoupons_each = '3'": "!whole number",
    "[file]\ncoupons_each = true": "!whole number",
    "[file]\nstill_open = 9": "!a text",
    f"[file]\nstill_open = '{HUGE}'": "!not understood",
    "[file]\nvalid_days = 1e308": "!from 0 to 3,650",
    "[file]\nvalid_days = '60'": "!from 0 to 3,650",
    f"[file]\nvalid_days = {'9' * 400}": "!from 0 to 3,650",
    "[file]\nvalid_days = 2024-01-01": "!from 0 to 3,650",
    "[file]\nvalid_days = 1\nactive_after_days = 2": "!cannot be used before",
    "[file]\nvalid_days = 60": "24",
    "[columns]\nid = 1": "!a list of texts",
    "[columns]\nnope = 'x'": "!no setting",
    "[columns]\nid = 'nope'": "!no column",
    "[columns]\nid = 'id'\ndate = 'id'": "!is named for id and for date",
    "[[field]]\nname = 1": "!needs a name",
    FIELD: "!no categories",
    FIELD + "categories = []": "!no categories",
    FIELD + "categories = ['f', 'f']": "!more than once",
    FIELD + "categories = [1, 2]": "!a list of texts",
    FIELD + "categories = ['f']": "!'m' is not allowed",
    FIELD + "categories = ['a', 'b']\ncuts = [nan]": "!numbers that rise",
    FIELD + "categories = ['a', 'b']\ncuts = [inf]": "!numbers that rise",
    FIELD + f"categories = ['a', 'b']\ncuts = [{'9' * 400}]": "!a list of numbers",
    FIELD + "categories = ['a', 'b']\ncuts = ['1']": "!a list of numbers",
    FIELD + "categories = ['a', 'b']\ncuts = [true]": "!a list of numbers",
    FIELD + "categories = ['a', 'b']\ncuts = [5]": "!is not allowed",
    FIELD + "other = 'o'\ncategories = ['o', " + ", ".join(f"'{n}'" for n in range(32_767)) + "]": "!at most 32,767",
    FIELD + "other = 'o'\ncategories = ['o', " + ", ".join(f"'{n}'" for n in range(32_766)) + "]": "32767 categories",
    FIELD + "categories = ['f', 'm', \"\\u001b[31m\", '$x$', '[/x]']": "\\x1b[31m",
    FIELD + "categories = ['f', 'm']\n" + FIELD + "categories = ['f', 'm']": "!two fields",
    "[[field]]\nname = '[/x]'\ncategories = ['a']": "!'[/x]'",
    "[[field]]\nname = ''\ncategories = ['a']": "!''",
    "#" + "x" * 1_000_000: "24",
    "a" + ".a" * 50_000 + " = 1": "!more than 100 parts",
    "[a" + ".a" * 50_000 + "]": "!more than 100 parts",
    "x = { a" + ".a" * 50_000 + " = 1 }": "!more than 100 parts",
    "a" * 1_000_000 + " = 1": "!",
    "'a'" + ".'a'" * 50_000 + " = 1": "!more than 100 parts",
}


def schemas() -> Iterator[Case]:
    for number, (content, expected) in enumerate(SCHEMAS.items()):
        name = f"{number} {content[:50]}"
        yield case("schema", name, expected, "check", "study", "--schema", "schema", study=TABLE, schema=content)
    for encoding, expected in (
        ("utf-16", "!not a correct schema"),
        ("utf-8-sig", "24"),
        ("utf-32", "!not a correct schema"),
    ):
        content = (FIELD + "categories = ['f', 'm']").encode(encoding)
        yield case("schema", encoding, expected, "check", "study", "--schema", "schema", study=TABLE, schema=content)
