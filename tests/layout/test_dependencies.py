"""Layout: every declared dependency is used by the source, and everything imported is declared, in the right place."""

import ast
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "labelwood"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = [
    Requirement(line)
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
# Distributions whose module has another name.
MODULES = {
    "faiss-cpu": "faiss",
    "pystemmer": "Stemmer",
    "scikit-build-core": "scikit_build_core",
    "scikit-learn": "sklearn",
}
# Extras whose packages labelwood itself never imports: for the tests, and for the documentation's site.
NOT_IMPORTED = {"dev", "docs"}
# Where the modules of an extra may be imported: the files that say which extra is missing, and those behind them.
PLACES = {
    "excel": ("data/",),
    "parquet": ("data/", "cluster/predictions.py"),  # Ray Data brings it too
    "pdf": ("data/reading/documents.py",),
    "neural": ("models/neural/", "neighbors/approximate.py"),
    "text": ("models/neural/",),
    "report": ("report/",),
    "static": ("models/ensemble/static_vectors.py",),
    "hub": ("hub.py",),
    "serve": ("server/",),
    "cluster": ("cluster/",),
    "languages": ("features/stems.py",),
    "vocabulary": ("vocabulary/",),
}
# Rooms whose files need modules of an extra to be imported at all; who enters them says which extra is missing.
AT_ONCE = {
    "models/neural/": {"torch"},
    "server/": {"httptools", "msgspec", "uvicorn"},
    "annif_backend.py": {"annif"},
}
# Imported where only a caller who has the package himself comes.
OF_THE_CALLER = {"annif", "sklearn"}


def module_of(requirement):
    """The module that a requirement such as 'faiss-cpu>=1.8' brings: 'faiss'."""
    name = Requirement(requirement).name
    return MODULES.get(name, name.replace("-", "_"))


CORE = {module_of(requirement) for requirement in PROJECT["dependencies"]}
EXTRAS = {
    extra: {module_of(requirement) for requirement in requirements}
    for extra, requirements in PROJECT["optional-dependencies"].items()
    if extra not in NOT_IMPORTED
}


def named_modules(node, constants):
    """The modules that a piece of syntax imports, or looks for with find_spec."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module]
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "importlib.util.find_spec":
        name = node.args[0]
        return [name.value if isinstance(name, ast.Constant) else constants[name.id]]
    return []


def third_party(names):
    tops = {name.partition(".")[0] for name in names}
    return {top for top in tops if top != "labelwood" and top not in sys.stdlib_module_names}


def modules_in(path):
    """(all third-party modules of a file, those of them that importing the file needs)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    }
    anywhere = [name for node in ast.walk(tree) for name in named_modules(node, constants)]
    at_once = [name for node in tree.body for name in named_modules(node, constants)]
    return third_party(anywhere), third_party(at_once)


FILES = {path.relative_to(SOURCE).as_posix(): modules_in(path) for path in sorted(SOURCE.rglob("*.py"))}
IMPORTED = set().union(*(anywhere for anywhere, _ in FILES.values()))


@pytest.mark.parametrize("module", sorted(CORE.union(*EXTRAS.values())))
def test_a_declared_dependency_is_used(module):
    assert module in IMPORTED, f"nothing in src imports {module}, so nobody should have to install it"


@pytest.mark.parametrize("path", FILES)
def test_what_is_imported_is_declared(path):
    anywhere, at_once = FILES[path]
    for module in anywhere - CORE - OF_THE_CALLER:
        extras = [extra for extra, modules in EXTRAS.items() if module in modules]
        assert extras, f"{path} imports {module}, which pyproject.toml does not declare"
        places = [place for extra in extras for place in PLACES[extra]]
        assert path.startswith(tuple(places)), f"{path} imports {module} of the extra {extras}; only {places} may"
    allowed = set().union(*(modules for place, modules in AT_ONCE.items() if path.startswith(place)))
    missing = at_once - CORE - allowed
    assert not missing, f"{path} cannot be imported without {missing}: import it in the function that needs it"


def test_extras_bring_nothing_that_everyone_has():
    for extra, modules in EXTRAS.items():
        assert not modules & CORE, extra


def test_everything_declared_is_pinned():
    pinned = {pin.name.lower() for pin in PINS}
    optional = [name for names in PROJECT["optional-dependencies"].values() for name in names]
    declared = {Requirement(name).name for name in [*PROJECT["dependencies"], *optional]}
    assert declared - {"labelwood"} <= pinned


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13", "3.14"])
def test_no_package_has_two_pins_for_one_python(python):
    fitting = [pin.name for pin in PINS if pin.marker is None or pin.marker.evaluate({"python_version": python})]
    assert len(fitting) == len(set(fitting))
    assert {"numpy", "scipy", "torch", "pytest"} <= set(fitting)


def test_every_python_that_is_promised_is_built():
    promised = {name.rpartition(" ")[2] for name in PROJECT["classifiers"] if "Python :: 3." in name}
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    built = {f"3.{word.removeprefix('cp3').removesuffix('-*')}" for word in tool["cibuildwheel"]["build"].split()}
    assert promised == built
    assert PROJECT["requires-python"] == f">={min(promised)}"
