"""Frontiers, network files, numbers and names that are hostile, what is no file at all, and files written and read again."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from hostile.making import ARABIC_3, HUGE, TABLE, case, quoted, table
from hostile.runner import Case, Content
from study.small_advice import study_csv

# The people who wait, and the numbers of a plan --------------------------------------------------------------------------

WAITING = "id,sex,town\na,f,north\nb,m,south\n"
FRONTIERS: Mapping[str, tuple[str, Content]] = {
    "two people": ("Give out", WAITING),
    "empty": ("!the file is empty", ""),
    "nobody": ("!nobody below it", "id,sex,town\n"),
    "no id": ("!no id column", "sex,town\nf,north\n"),
    "an id twice": ("!stands already", WAITING + "a,f,north\n"),
    "an empty id": ("!the id is empty", WAITING + ",f,north\n"),
    "no town": ("!'town' are missing", "id,sex\na,f\n"),
    "an unknown category": ("!'[/x]' is not allowed", WAITING + "c,[/x],north\n"),
    "a formula": ("=1+1", WAITING + "=1+1,f,north\n"),
    "markup": ("[/x]", WAITING + "[/x],f,north\n"),
    "an emoji's name": (":smile:", WAITING + ":smile:,f,north\n"),
    "an escape": ("\\x1b[31m", WAITING + "\x1b[31m,f,north\n"),
    "right to left": ("\\u202e", WAITING + "\u202ex,f,north\n"),
    "a long id": ("characters", WAITING + "x" * 5_000 + ",f,north\n"),
    "a longer id": ("!131,072", WAITING + "x" * 131_073 + ",f,north\n"),
    "10,001 columns": ("!may have 10,000", "id,sex,town," + ",".join(map(str, range(10_001)))),
    "a column twice": ("!more than once", "id,sex,town,id\na,f,north,b\n"),
    "UTF-16": ("Give out", WAITING.encode("utf-16")),
    "UTF-32": ("Give out", WAITING.encode("utf-32")),
    "NUL": ("!NUL", WAITING + "\0,f,north\n"),
    "Macintosh": ("Give out", WAITING.replace("\n", "\r")),
    "sep=;": ("Give out", "sep=;\n" + WAITING.replace(",", ";")),
    "JSON": ("!", "[]"),
    "half a pair": ("Give out", WAITING + "\ud800,f,north\n"),
    "a tab": ("Give out", WAITING + '"\tx",f,north\n'),
}
BUDGETS = {
    "5": "Give out",
    "0": "no coupons are left",
    "-1": "!at least 0",
    "-0": "no coupons",
    "1e9": "!at most 10,000,000",
    "1e308": "!at most",
    "nan": "!found nan",
    "inf": "!found inf",
    HUGE: "!found inf",
    "1.5": "!found 1.5",
    "": "!",
    "five": "!Invalid value",
    "[/x]": "!Invalid value",
    "100": "!fitted for at most",
    "0x10": "!Invalid value",
    "1e-320": "!whole number",
}
PLAN_OPTIONS = {
    "--max-per-person=0": "!at least 1",
    "--max-per-person=1e12": "!at most",
    "--max-per-person=1e308": "!at most",
    "--max-per-person=nan": "!nan",
    "--min-per-person=-1": "!at least 0",
    "--min-per-person=1e9": "!contradict",
    "--min-per-person=inf": "!inf",
    "--round-cap=-1": "!at least 0",
    "--round-cap=1e308": "!at most",
    "--round-cap=0": "limit is 0",
    "--rounds-left=1e9": "!at most 104",
    "--rounds-left=105": "!at most 104",
    "--rounds-left=0": "no round is left",
    "--rounds-left=-5": "!at least 0",
    "--reserve=1e308": "!at most",
    "--reserve=6": "!more than",
    "--reserve=-1": "!at least 0",
    "--response=[/x]": "!'[/x]'",
    "--response=": "!",
    "--at-least=": "!",
    "--at-least=sex=f": "!",
    "--at-least=sex=f:nan": "!",
    "--at-least=sex=f:1e308": "!",
    "--at-least=sex=[/x]:1": "!",
    "--at-least=nope=f:1": "!",
    "--learn-share=1.5": "!between 0 and 1",
    "--learn-share=nan": "!",
    "--learn-share=-1": "!between 0 and 1",
    "--nope": "!No such option",
    "--budget=[/x]": "!Invalid value",
    "--[/x]": "!No such option",
}
FORECAST_OPTIONS = {
    "--episodes=20": "round by round",
    "--episodes=1e9": "!at most 1,000,000",
    "--episodes=1": "!at least 2",
    "--episodes=nan": "!nan",
    "--target=0": "!at least 1",
    "--target=1e308": "!at most",
    "--already=-1": "!at least 0",
    "--already=1e12": "!at most",
    "--seed=1.5": "!Invalid value",
    f"--seed={HUGE}": "!",
    "--seed=99999999999999999999": "!at most 999,999",
    "--rounds-left=1e6": "!at most 104",
}


def plans() -> Iterator[Case]:
    for name, (expected, content) in FRONTIERS.items():
        yield case("frontier", name, expected, "plan", "{model}", "people", "--budget", "2", people=content)
    for text, expected in BUDGETS.items():
        yield case("--budget", text[:40], expected, "plan", "{model}", "people", f"--budget={text}", people=WAITING)
    for text, expected in PLAN_OPTIONS.items():
        yield case("plan", text[:40], expected, "plan", "{model}", "people", "--budget", "5", text, people=WAITING)
    for text, expected in FORECAST_OPTIONS.items():
        yield case("forecast", text[:40], expected, "forecast", "{model}", "people", "--budget=5", text, people=WAITING)


# Simulations -------------------------------------------------------------------------------------------------------------

SIMULATE = {
    "--budget=1e9": "!at most 10,000,000",
    "--budget=-1": "!at least 0",
    "--budget=nan": "!nan",
    "--people=1e12": "!at most 10,000,000",
    "--people=-1": "!at least 0",
    "--people=1e308": "!at most",
    "--rounds=1e9": "!at most 10,000",
    "--rounds=0": "!at least 1",
    "--rounds=inf": "!inf",
    "--max-per-person=0": "!at least 1",
    "--max-per-person=1e308": "!at most",
    "--max-per-round=nan": "!nan",
    "--discount=0": "!above 0",
    "--discount=nan": "!above 0",
    "--discount=1e308": "!at most 1",
    "--discount=-0": "!above 0",
    "--episode=1000000000": "!at most",
    "--episode=-1": "!at least 0",
    "--draw=-1": "!at least 0",
    "--seed=-1": "!at least 0",
    f"--seed={HUGE}": "!",
    "--draw=99999999999999999999": "!at most",
    "--budget=20": "recruits with",
    "--world=": "!no world called ''",
    "--world=[/x]": "!'[/x]'",
    "--world=bridge:": "recruits with",
    "--world=bridge:x": "!Cannot read",
    "--world=bridge:x=1": "!no setting of bridge",
    "--world=\x1b[31m": "!\\x1b[31m",
    "--world=bridge:name=[/x]": "!cannot hold",
    "--world=bridge:name=" + "x" * 81: "!at most 80",
    "--world=boom_bust:fidelity=2": "!between 0 and 1",
    "--world=boom_bust:fidelity=nan": "!a number",
    f"--world=boom_bust:fidelity={ARABIC_3}": "!between 0 and 1",
    "--world=boom_bust:fidelity=1_0": "!a number",
    "--world=icpsr22140:sigma=1e308": "!at most 100",
    "--world=icpsr22140:sigma=-1": "!at most 100",
    "--world=icpsr22140:mean_capacity=1e12": "!at most 1,000",
    "--world=icpsr22140:mean_capacity=0": "!above 0",
    "--world=icpsr22140:pool=1e9": "!at most 1,000,000",
    "--world=icpsr22140:pool=1.5": "!whole number",
    f"--world=icpsr22140:pool={HUGE}": "!whole number",
    "--world=icpsr22140:sigma=1,sigma=2": "!given twice",
    "--world=network:people=1e12": "!",
    "--world=network:people=1": "!at least 2",
    "--world=network:people=50,willingness=1e308": "!at most 1,000",
    "--world=network:people=50,sigma=inf": "!a number",
    "--world=network:nodes=x": "!both nodes= and edges=",
    "--world=network:exclude=x": "!needs a node file",
    "--world=study:file=": "!",
    "--world=study:file=nope.csv": "!no such file",
    "--world=study:schema=x": "!needs the study",
    f"--world=study:file={HUGE}": "!",
    "--world=study:file=/dev/zero": "!is a device",
    "--world=study:file=.": "!is a folder",
    "--world=study:sigma=1e308": "!at most 100",
    "--world=study:calibrate=[/x]": "!'[/x]'",
    "--policy=": "!no policy called ''",
    "--policy=[/x]": "!'[/x]'",
    "--policy=constant:coupons=1e12": "!at most",
    "--policy=constant:coupons=-1": "!at least 0",
    "--policy=constant:coupons=nan": "!whole number",
    "--policy=constant:coupons=3.5": "!whole number",
    "--policy=threshold:cutoff=2,at_least=1": "!between 0 and 1",
    "--policy=threshold:cutoff=.5": "!give both",
    "--policy=threshold:cutoff=.5,at_least=1e12": "!at most",
    "--policy=evenly:pace=1e308": "!at most",
    "--policy=evenly:pace=0": "!above 0",
    "--policy=population_dp:population=1e9": "!at most 1,000,000",
    "--policy=population_dp:recruits=1e12": "!at most",
    "--policy=population_dp:marginal=[/x]": "!'[/x]'",
    "--policy=gfp:learn=$x$": "!'$x$'",
    "--policy=budget_dqn:training=[/x]": "!'[/x]'",
}
COMPARE = {
    "--episodes=1000000000": "!at most 1,000,000",
    "--episodes=0": "!at least 1",
    "--draws=1000000000": "!at most 10,000",
    "--draws=0": "!at least 1",
    "--workers=0": "!at least 1",
    "--workers=-1": "!at least 1",
    "--models=[/x]": "![/x]",
    "--models=": "!",
    "--backend=[/x]": "!'[/x]'",
    "--against=[/x]": "!'[/x]'",
    "--discount=nan": "!above 0",
    "--rounds=1e6": "!at most 10,000",
    "--people=1e7": "!at most 20,000,000",
    "--budget=1e7": "!at most 20,000,000",
    "--budget=1e6": "!--max-per-person",
    "--policy=constant": "!called the same",
    "--world=bridge:name=a b.c-d": "a b.c-d",
    "--seed=1.5": "!Invalid value",
    "--scheduler=$x$": "!scheduler",
}
FIT = {
    "--budget=0": "!at least 1",
    "--budget=1e9": "!at most 2,000,000",
    "--budget=nan": "!nan",
    "--rounds=105": "!at most 104",
    "--rounds=0": "!at least 1",
    "--people=1e12": "!at most 10,000,000",
    "--people=0": "!at least 1",
    "--discount=0": "!above 0",
    "--discount=2": "!at most 1",
    "--max-per-person=1e12": "!at most",
    "--max-per-person=0": "!at least 1",
    "--round-cap=0": "!at least 1",
    "--seed=-1": "!at least 0",
    "--seed=99999999999999999999": "!at most",
    "--schema=nope": "!no such file",
}
COMMAND_LINES: Mapping[tuple[str, ...], str] = {
    ("[/x]",): "!No such command",
    ("\x1b[31m",): "!No such command",
    ("check",): "!Missing argument",
    ("check", "study", "[/x]"): "!unexpected extra argument",
    ("check", "study", "--\x1b[31m"): "!No such option",
    ("check", "study", "--[bold]"): "!No such option",
    ("plan", "{model}", "study"): "!Missing option",
    ("worlds", "[/x]"): "!'[/x]'",
    ("worlds", "$x$"): "!'$x$'",
    ("worlds", ":smile:"): "!",
    ("worlds", "bridge:x=[/x]"): "!no setting of bridge",
    ("convert", "study", "--to", "[/x]", "--out", "x"): "!'[/x]'",
    ("worlds",): "bridge",
    ("policies",): "threshold",
    ("fit", "study", "--out", "m"): "!Missing option",
    ("check", "study", "study"): "!unexpected extra argument",
    ("worlds", ""): "!no world called ''",
}
EXAMPLES = {
    "--people=1e9": "!at most 100,000",
    "--people=1e308": "!whole number",
    "--people=-5": "!at least 40",
    "--people=nan": "!nan",
    "--people=0": "!at least 40",
    "--people=30.5": "!whole number",
    "--seed=-1": "!at least 0",
    "--seed=x": "!Invalid value",
    "--people=": "!",
    "--people=40": "Nobody in them exists",
}
NODES, EDGES = "id,sex\na,f\nb,m\nc,f\n", "source,target\na,b\nb,c\n"
NETWORKS: Mapping[str, tuple[str, Content, Content]] = {
    "three people": ("sex (2)", NODES, EDGES),
    "no nodes": ("!the file is empty", "", EDGES),
    "a header": ("!nobody below it", "id\n", EDGES),
    "no id": ("!must name the column 'id'", "x\na\n", EDGES),
    "an id twice": ("!stands already", NODES + "a,f\n", EDGES),
    "an empty id": ("!the id is empty", NODES + ",f\n", EDGES),
    "a taken name": ("!is taken", "id,network_size\na,1\nb,2\nc,3\n", EDGES),
    "markup": ("[/x] (3)", "id,[/x]\na,[bold]\nb,:smile:\nc,\x1b[31m\n", EDGES),
    "an escape": ("\\x1b[31m (2)", "id,\x1b[31m\na,f\nb,m\nc,f\n", EDGES),
    "no name": ("!no name", "id,,sex\na,1,f\nb,0,m\nc,2,f\n", EDGES),
    "nan, NAN and -nan": ("sex (3)", "id,sex\na,nan\nb,NAN\nc,-nan\n", EDGES),
    "too few values": ("!1 values for 2", NODES + "d\n", EDGES),
    "UTF-16": ("sex (2)", NODES.encode("utf-16"), EDGES),
    "Latin-1": ("!not in UTF-8", (NODES + "é,f\n").encode("latin-1"), EDGES),
    "NUL": ("!NUL", NODES + "\0,f\n", EDGES),
    "a stranger": ("!not an id of", NODES, EDGES + "a,z\n"),
    "a loop": ("!tied to itself", NODES, EDGES + "a,a\n"),
    "one end": ("!1 values for 2", NODES, EDGES + "a\n"),
    "no target": ("!must name the column 'target'", NODES, "source,x\na,b\n"),
    "nobody knows anybody": ("sex (2)", NODES, "source,target\n"),
    "200 categories": (
        "!200 different values",
        "id,sex\n" + "".join(f"p{n},c{n}\n" for n in range(200)),
        "source,target\np1,p2\n",
    ),
    "a long cell": ("!131,072", NODES + "d," + "x" * 131_073 + "\n", EDGES),
}


def simulations() -> Iterator[Case]:
    for text, expected in SIMULATE.items():
        options = [text if text.startswith("--world=") else "--world=bridge", "--policy=constant"]
        options += [text] if not text.startswith("--world=") else []
        yield case("simulate", text[:60], expected, "simulate", *options)
    for text, expected in COMPARE.items():
        options = ["--world=bridge"] if not text.startswith("--world=") else []
        options += ["--policy=constant", "--discount=1", "--workers=1", "--episodes=5", text]
        yield case("compare", text[:60], expected, "compare", *options)
    for text, expected in FIT.items():
        yield case("fit", text[:60], expected, "fit", "study", "--out", "m", "--budget=10", text, study=TABLE)
    for words, expected in COMMAND_LINES.items():
        yield case("command line", " ".join(words)[:60], expected, *words, study=TABLE)
    for text, expected in EXAMPLES.items():
        yield case("example", text[:60], expected, "example", "--out", "made", text)
    for name, (expected, nodes, edges) in NETWORKS.items():
        yield case("network", name, expected, "worlds", "network:nodes=nodes,edges=edges", nodes=nodes, edges=edges)


# What is no file, wherever a file is read ----------------------------------------------------------------------------


def _unreadable(path: Path) -> None:
    path.write_text(TABLE)
    path.chmod(0)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**30 + 1)


NO_FILES: Mapping[str, tuple[str, Content | None]] = {
    "pipe": ("is a pipe", os.mkfifo),
    "/dev/zero": ("is a device", None),
    "/dev/null": ("is a device", None),
    ".": ("is a folder", None),
    "/": ("is a folder", None),
    "nope": ("no such file", None),
    "loop": ("cannot be read", lambda path: path.symlink_to(path.name)),
    "x" * 300: ("cannot be", None),
    "a\0b": ("null byte", None),
    "": ("is a folder", None),
    "nope/x": ("no such file", None),
    "[/x]": ("[/x]", None),
    "\x1b[31m": ("\\x1b[31m", None),
    "\u202ex": ("\\u202e", None),
    "\udcff": ("no such file", None),
    "sparse": ("a file may have", _sparse),
    "$x$.csv": ("$x$.csv", None),
    "~": ("no such file", None),
}


def no_files() -> Iterator[Case]:
    for name, (words, content) in NO_FILES.items():
        files = {} if content is None else {name: content}
        expected, shown = f"!{words}", name[:20]
        yield case("no file", f"check {shown}", expected, "check", name, **files)
        yield case("no file", f"schema {shown}", expected, "check", "study", "--schema", name, study=TABLE, **files)
        yield case("no file", f"plan {shown}", expected, "plan", "{model}", name, "--budget", "5", **files)
        if "\0" not in name and "=" not in name and name:
            spec = f"study:file={name}"
            yield case("no file", f"world {shown}", expected, "worlds", spec, **files)
    for command in (("convert", "pipe", "--to", "app", "--out", "x"), ("fit", "pipe", "--budget", "5", "--out", "m")):
        yield case("no file", f"{command[0]} pipe", "!is a pipe", *command, pipe=os.mkfifo)
    yield case("no file", "report pipe", "!is a pipe", "report", "{model}", "pipe", "--out", "r", pipe=os.mkfifo)
    sheet = ("estimate", "study", "--outcome=sex", f"--sheet={'x' * 300}")
    yield case("no file", "estimate, a long name", "!Check the path", *sheet, study=TABLE)
    yield case("no file", "nodes pipe", "!is a pipe", "worlds", "network:nodes=pipe,edges=pipe", pipe=os.mkfifo)
    yield case("no file", "model pipe", "!", "plan", "pipe", "people", "--budget", "5", pipe=os.mkfifo, people=WAITING)
    if os.geteuid():  # root may read everything
        yield case("no file", "unreadable", "!cannot be read", "check", "secret", secret=_unreadable)


# Files that are written and read again ---------------------------------------------------------------------------------


def written() -> Iterator[Case]:
    for text in ("=1+1", "$x$", "[/x]", "\x1b[31m", "'=1", "a,b", "@x", "\u202ex"):
        content = table(id=quoted(text), recruiter="p1", sex=quoted(text)).replace("p5,", "p4,")
        for layout in ("coupons", "recruiter", "rdsat", "app", "dot"):
            arguments = ("convert", "study", "--to", layout, "--out", "made")
            yield case(f"convert to {layout}", text, "24 people written", *arguments, study=content)
        yield case("check --out", text, "Written to", "check", "study", "--out", "checked", study=content)
    strange = study_csv(24).replace("sex", "$x$").replace("town", "[/x]")
    yield case("check --out", "strange columns", "Written to", "check", "study", "--out", "checked", study=strange)
