"""The shape of the code: sizes of the rooms, imports, walks, sentences; several versions side by side.

python benchmarks/structure.py                       # this tree
python benchmarks/structure.py OLD/src src           # two versions, compared
python benchmarks/structure.py --no-walks OLD/src src  # without running commands (seconds in place of minutes)
python benchmarks/structure.py --write OLD/src src   # puts the table into docs/results/structure.md; a test compares

To get an older version beside this one: `git worktree add OLD COMMIT` (version 0.3 is commit 2c51518).

Rows of the table:

- modules, lines, median lines, and modules longer than 300 lines: every .py file of the package, blank lines included;
- import edges: pairs of modules of which one imports the other when it runs, be it inside a function;
- deepest import chain: the most modules in a row of which each imports the next; the modules of a cycle all count;
- single-importer modules: modules that exactly one other module imports;
- names used twice: names of files that occur in several rooms, without those that Python and Django ask for;
- sentences below words: texts in rooms that `words` may import that begin with a capital letter and have three words,
  end with a full stop, or have five words; docstrings, defects of the program (ValueError and the like), logs, and
  names of luck and of columns aside. In web: the same in Python code of the pages, outside `gettext`;
- places that read sentences: `startswith("Warning`, and text split at words that the program itself has written;
- files passed: distinct files of the package in which a function or a class body runs, counted by a profile hook. Walk
  "file to sheet" is `example`, `check`, `fit` and `plan` on the demo study; "gfp in compare" is one comparison; "week"
  is one week of the demo study.
"""

import argparse
import ast
import importlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grimp
import networkx as nx

PACKAGE = "peerfront"
LONG = 300
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "results" / "structure.md"
BEGIN, END = "<!-- made by benchmarks/structure.py -->", "<!-- end -->"

# Python runs a module of this name at its start, in every process that has its folder on the path.
HOOK = """
import atexit, os, sys, threading

root, out = os.environ["WALK_ROOT"], os.environ["WALK_OUT"]
seen = set()

def hook(frame, event, argument):
    if event == "call":
        code = frame.f_code
        if code.co_filename.startswith(root) and code.co_name != "<module>":
            seen.add(code.co_filename)

def write():
    sys.setprofile(None)
    with open(out, "a") as file:
        file.writelines(name[len(root):] + "\\n" for name in seen)

sys.setprofile(hook)
threading.setprofile(hook)
atexit.register(write)
"""
WALKS = {
    "file to sheet": (
        "example --out example",
        "check example/study.csv --out checked",
        "fit example/study.csv --schema checked/schema.toml --out model --budget 60 --people 41",
        "plan model example/frontier.csv --budget 60 --out sheet.csv",
    ),
    "week": (
        "example --out example",
        "week example/study.csv --folder running --budget 60 --deadline 2024-07-31 --target 550 --valid-days 30"
        " --date 2024-04-29",
    ),
    "gfp in compare": ("compare --world icpsr22140 --policy gfp --discount 0.9 --episodes 20 --budget 30 --workers 1",),
}
BELOW_WORDS = (
    *("foundation", "problem", "gfp", "models", "bounds", "baselines", "data", "estimates", "simulation"),
    *("experiments", "study", "allocation", "value", "advice"),
)
IN_WEB = ("web", "app", "live", "pages")
FORMER = {
    "advice": ("study",), "allocation": ("gfp",), "value": ("gfp",),
    "app": ("web", "app"), "live": ("web", "live"), "pages": ("web", "pages"),
}  # fmt: skip
EXPECTED_TWICE = {"__init__.py", "__main__.py", "apps.py", "urls.py", "django_settings.py"}
DEFECTS = {"ValueError", "TypeError", "RuntimeError", "AssertionError", "KeyError", "NotImplementedError", "OSError"}
WORD = r"[A-Za-z']+[,;:]?"
SENTENCE = re.compile(rf"^\W*[A-Z]{WORD} +{WORD} +{WORD}|{WORD} +{WORD}\.$|(?:{WORD} +){{4}}{WORD}")
WORDS = r"['\"][^'\"]*[A-Za-z]{3,} [A-Za-z]{2,}[^'\"]*['\"]"
OWN_TEXT = re.compile(
    rf"startswith\(['\"](?:Warning|Note|Error)|(?:partition|split)\({WORDS}"
    rf"|{WORDS} (?:not )?in (?:line|text|message|words)\b"
)


@dataclass(frozen=True)
class Shape:
    """What is counted in one source tree."""

    modules: int
    lines: int
    median_lines: float
    long_modules: dict[str, int]
    edges: int
    chain: tuple[str, ...]
    single_importer: int
    rooms: dict[str, tuple[int, int]]  # room -> lines, modules
    names_twice: tuple[str, ...]
    sentences_below: int
    sentences_in_web: int
    reading_sentences: int
    passed: dict[str, frozenset[str]]  # walk -> files


@contextmanager
def import_path(source: Path) -> Iterator[None]:
    """Let the import system find the package in this source tree, and nowhere else."""
    sys.path.insert(0, str(source))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(source))


def import_graph(source: Path) -> "nx.DiGraph[str]":
    """Read the package's imports: an edge leads from the importer to what it imports."""
    with import_path(source):
        found = grimp.build_graph(PACKAGE, exclude_type_checking_imports=True, cache_dir=None)
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(sorted(found.modules))
    for module in sorted(found.modules):
        graph.add_edges_from((module, imported) for imported in sorted(found.find_modules_directly_imported_by(module)))
    return graph


def deepest_chain(graph: "nx.DiGraph[str]") -> tuple[str, ...]:
    """Return the longest row of modules of which each imports the next; a cycle counts with all its modules."""
    cycles = nx.condensation(graph)  # acyclic: its nodes are modules, or whole cycles
    best: dict[int, list[str]] = {}
    for node in reversed(list(nx.topological_sort(cycles))):
        below: list[str] = max((best[child] for child in cycles.successors(node)), key=len, default=[])
        best[node] = sorted(cycles.nodes[node]["members"]) + below
    return tuple(max(best.values(), key=len))


def files_passed(source: Path, commands: tuple[str, ...]) -> frozenset[str]:
    """Run the commands one after the other in a folder of their own, and collect the files whose functions ran."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "hook").mkdir()
        (folder / "hook" / "sitecustomize.py").write_text(HOOK)
        out = folder / "passed.txt"
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(folder / "hook"), str(source))),
            "WALK_ROOT": f"{source / PACKAGE}{os.sep}",
            "WALK_OUT": str(out),
        }
        start = f"import sys; sys.argv[0] = '{PACKAGE}'; from {PACKAGE}.cli.main import main; main()"
        for command in commands:
            print(f"  {PACKAGE} {command}", file=sys.stderr, flush=True)
            done = subprocess.run(
                [sys.executable, "-c", start, *command.split()],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                sys.exit(f"{PACKAGE} {command} failed in {source}:\n{done.stderr}")
        return frozenset(out.read_text().split())


def room_of(name: str) -> str:
    """The room of a file, given by its path in the package; rooms of 0.3 by their names of today."""
    parts = Path(name).parts[:-1]
    if parts[:1] and parts[0] in FORMER:
        parts = (*FORMER[parts[0]], *parts[1:])
    return "/".join(parts[:2] if parts[:1] == ("web",) else parts[:1]) or "front door"


def sentences_in(path: Path) -> list[str]:
    """Texts that look like sentences; docstrings, defects of the program, logs, names of luck and of columns aside."""
    tree = ast.parse(path.read_bytes())
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and _name(node.exc.func) in DEFECTS:
            skipped |= {id(each) for each in ast.walk(node.exc)}
        elif isinstance(node, ast.Assert):
            skipped |= {id(each) for each in ast.walk(node)}
        elif isinstance(node, ast.Call) and _name(node.func) in TRANSLATED | LOGGED | LUCK:
            skipped |= {id(each) for argument in node.args for each in ast.walk(argument)}
        elif isinstance(node, ast.Dict):
            skipped |= {id(each) for key in node.keys if key is not None for each in ast.walk(key)}
        elif isinstance(node, ast.Subscript):
            skipped |= {id(each) for each in ast.walk(node.slice)}
        elif isinstance(node, ast.JoinedStr):
            skipped |= {id(each) for each in node.values}
    texts = (_text(node) for node in ast.walk(tree) if id(node) not in skipped)
    return [text for text in texts if text and SENTENCE.search(text)]


TRANSLATED = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy", "pgettext", "pgettext_lazy",
              "npgettext", "say", "say_n", "tell", "warn", "compile"}  # fmt: skip
LOGGED = {"debug", "info", "exception", "getLogger", "execute"}
LUCK = {
    "named_luck",
    "named_generator",
    "named_key",
    "generator",
    "uniform",
    "uniforms",
    "exponentials",
    "normals",
    "child",
    "row",
}


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(each.value if isinstance(each, ast.Constant) else "x" for each in node.values)
    return ""


def shape(source: Path, walks: bool) -> Shape:
    """Count everything in one source tree."""
    files = sorted((source / PACKAGE).rglob("*.py"))
    if not files:
        sys.exit(f"There is no package {PACKAGE} in {source}. Give the folder that holds it, such as OLD/src.")
    lines = {str(file.relative_to(source / PACKAGE)): len(file.read_text().splitlines()) for file in files}
    graph = import_graph(source)
    names = Counter(Path(name).name for name in lines)
    in_rooms = {name: sentences_in(source / PACKAGE / name) for name in lines if "migrations" not in name}
    rooms: dict[str, tuple[int, int]] = {}
    for name, count in lines.items():
        before = rooms.get(room_of(name), (0, 0))
        rooms[room_of(name)] = before[0] + count, before[1] + 1
    return Shape(
        modules=len(files),
        lines=sum(lines.values()),
        median_lines=statistics.median(lines.values()),
        long_modules={name: count for name, count in lines.items() if count > LONG},
        edges=graph.number_of_edges(),
        chain=deepest_chain(graph),
        single_importer=sum(degree == 1 for _, degree in graph.in_degree()),
        rooms=rooms,
        names_twice=tuple(sorted(name for name, count in names.items() if count > 1 and name not in EXPECTED_TWICE)),
        sentences_below=sum(len(texts) for name, texts in in_rooms.items() if Path(name).parts[0] in BELOW_WORDS),
        sentences_in_web=sum(len(texts) for name, texts in in_rooms.items() if Path(name).parts[0] in IN_WEB),
        reading_sentences=sum(len(OWN_TEXT.findall(file.read_text())) for file in files),
        passed={name: files_passed(source, commands) for name, commands in WALKS.items()} if walks else {},
    )


def table(shapes: list[Shape]) -> dict[str, list[float]]:
    """One row for each figure, one value for each tree."""
    rows: dict[str, list[float]] = {
        "modules": [each.modules for each in shapes],
        "lines": [each.lines for each in shapes],
        "median lines of a module": [each.median_lines for each in shapes],
        f"modules over {LONG} lines": [len(each.long_modules) for each in shapes],
        "import edges": [each.edges for each in shapes],
        "deepest import chain": [len(each.chain) for each in shapes],
        "modules with a single importer": [each.single_importer for each in shapes],
        "names of files used twice": [len(each.names_twice) for each in shapes],
        "sentences below words": [each.sentences_below for each in shapes],
        "sentences in web, untranslated": [each.sentences_in_web for each in shapes],
        "places that read sentences": [each.reading_sentences for each in shapes],
    }
    for walk in shapes[0].passed:
        rows[f"files passed, {walk}"] = [len(each.passed[walk]) for each in shapes]
    for room in sorted({room for each in shapes for room in each.rooms}):
        lines_and_modules = [each.rooms.get(room, (0, 0)) for each in shapes]
        rows[f"{room}: lines"] = [lines for lines, _ in lines_and_modules]
        rows[f"{room}: modules"] = [modules for _, modules in lines_and_modules]
    return rows


def print_table(sources: list[Path], shapes: list[Shape]) -> None:
    """Print the rows, one column for each tree, and the last over the first as a ratio."""
    ratio = len(shapes) > 1
    print(f"{'':32}" + "".join(f"{f'tree {number + 1}':>10}" for number in range(len(shapes))) + "     ratio" * ratio)
    for name, values in table(shapes).items():
        quotient = f"{values[-1] / values[0]:>10.2f}" if ratio and values[0] else ""
        print(f"{name:32}" + "".join(f"{value:>10,g}" for value in values) + quotient)
    for number, (source, each) in enumerate(zip(sources, shapes, strict=True)):
        print(f"\ntree {number + 1}: {source}")
        long = (f"{name} ({count})" for name, count in each.long_modules.items())
        print(f"  over {LONG} lines: {', '.join(long) or 'none'}")
        print(f"  names used twice: {', '.join(each.names_twice) or 'none'}")
        print(f"  deepest chain: {' > '.join(name.removeprefix(f'{PACKAGE}.') for name in each.chain)}")


def page_with_table(page: str, shapes: list[Shape]) -> str:
    """The page of results with its table made anew, between the two marks."""
    start, rest = page.split(BEGIN)
    _, end = rest.split(END, 1)
    head = "| | 0.3 | now |\n| --- | ---: | ---: |\n" if len(shapes) > 1 else "| | now |\n| --- | ---: |\n"
    rows = (f"| {name} | {' | '.join(f'{value:,g}' for value in values)} |" for name, values in table(shapes).items())
    return f"{start}{BEGIN}\n{head}{chr(10).join(rows)}\n{END}{end}"


def main() -> None:
    options = argparse.ArgumentParser(description="The shape of one or several source trees.")
    options.add_argument("source", nargs="*", type=Path, default=[ROOT / "src"], help="folders that hold the package")
    options.add_argument("--no-walks", action="store_true", help="do not run the commands of the two walks")
    options.add_argument("--write", action="store_true", help=f"put the table into {PAGE.relative_to(ROOT)}")
    options.add_argument("--files", action="store_true", help="list the files passed on each walk")
    given = options.parse_args()
    sources = [source.resolve() for source in given.source]
    shapes = [shape(source, walks=not given.no_walks) for source in sources]
    print_table(sources, shapes)
    if given.write:
        PAGE.write_text(page_with_table(PAGE.read_text(), shapes))
    if given.files:
        for source, each in zip(sources, shapes, strict=True):
            for walk, files in each.passed.items():
                print(f"\n{walk}, {source}:", *sorted(files), sep="\n  ")


if __name__ == "__main__":
    main()
