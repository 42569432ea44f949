"""Models on the Hugging Face Hub: a saved folder goes up with a card about it, and comes down into a local cache."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from labelwood.errors import DataError, LabelwoodError, MissingExtraError, ParamError
from labelwood.storage.load import read_manifest, training_rows

SCHEME = "hf://"
CARD = "README.md"
_PART = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?"
_NAME = re.compile(rf"({_PART}/{_PART})(?:@({_PART}))?")
# What a saved folder consists of; nothing else is taken from a repository.
_PATTERNS = ("manifest.json", "*.safetensors", "*.json")
_MODEL_FILES = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\.(?:json|safetensors)")


class HubError(LabelwoodError):
    """The Hub cannot be reached, or refuses."""


def hub_name(name: str) -> tuple[str, str | None]:
    """("owner/name", revision or None) of "owner/name" or "owner/name@revision"; ParamError for anything else."""
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None or ".." in name or "--" in name:
        raise ParamError(f"a model on the Hub is owner/name or owner/name@revision, but here is {name!r:.200}")
    return match[1], match[2]


def upload(
    folder: Path,
    name: str,
    *,
    card: str,
    private: bool = False,
    token: str | None = None,
    message: str = "Upload a labelwood model",
) -> str:
    """The address of the commit with the files of a saved folder and its card; the repository is made if need be."""
    repository, revision = hub_name(name)
    if revision is not None:
        raise ParamError(f"a model is pushed to owner/name, not to a revision of it: {name!r}")
    hub = _library()
    manifest = read_manifest(folder)
    names = {"manifest.json", *(entry["file"] for entry in manifest["arrays"].values())}
    operations = [hub.CommitOperationAdd(file, str(folder / file)) for file in sorted(names)]
    operations.append(hub.CommitOperationAdd(CARD, card.encode()))
    with _told(repository):
        api = hub.HfApi(token=token)
        api.create_repo(repository, private=private, exist_ok=True)
        commit = api.create_commit(repository, operations, commit_message=message)
        return str(commit.commit_url)


def download(name: str, *, token: str | None = None) -> Path:
    """The folder of this machine that holds a model of the Hub; what is there already is not fetched again.

    The Hub's library keeps links to its store, which a model folder may not have. So the files are put, as second names
    of the same content, into a folder of their own for each commit.
    """
    repository, revision = hub_name(name)
    hub = _library()
    with _told(name):
        snapshot = Path(
            hub.snapshot_download(repository, revision=revision, allow_patterns=list(_PATTERNS), token=token)
        )
    target = Path(hub.constants.HF_HOME) / "labelwood" / repository.replace("/", "--") / snapshot.name
    if (target / "manifest.json").is_file():
        return target
    if not (snapshot / "manifest.json").is_file():
        raise DataError(f"{SCHEME}{name}: is no labelwood model (there is no manifest.json)")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as place:
        made = Path(place) / "model"
        made.mkdir()
        for file in sorted(snapshot.iterdir()):
            if file.is_file() and _MODEL_FILES.fullmatch(file.name):
                _second_name(Path(os.path.realpath(file)), made / file.name)
        with contextlib.suppress(OSError):  # another process was faster: its folder holds the same
            made.rename(target)
    return target


def model_card(manifest: Mapping[str, Any], name: str, figures: Mapping[str, float], license: str | None) -> str:
    """The card of a model in Markdown: what it is, how to use it, and what was measured, nothing else."""
    shape = manifest["shape"]
    header = ["---", "library_name: labelwood", "pipeline_tag: text-classification"]
    if license is not None:
        header.append(f"license: {license}")
    header += ["tags:", "- multi-label-classification", "- extreme-multi-label-classification", "---"]
    facts = {
        "model": manifest["name"],
        "labels": f"{shape['n_labels']:,}",
        "features": f"{shape['n_features']:,}",
        "training rows": f"{training_rows(manifest):,}",
        "made": manifest["created"],
        "labelwood": manifest["labelwood_version"],
        "version (SHA-256 of its manifest)": manifest["manifest_sha256"],
    }
    vocabulary = manifest["facts"].get("vocabulary")
    if vocabulary is not None:
        facts["names of the labels in"] = ", ".join(vocabulary["languages"])
    lines = [
        *header,
        "",
        f"# {name.partition('/')[2]}",
        "",
        f"Gives a text the few right labels out of {shape['n_labels']:,}.",
        "",
        "```python",
        "# pip install 'labelwood[hub]'",
        "import labelwood as lw",
        "",
        f'tagger = lw.load("{SCHEME}{name}")',
        'tagger.predict(["some text"], k=5)',
        "```",
        "",
        "## What it is",
        "",
        *_table(("", ""), facts.items()),
        "",
        "## What was measured",
        "",
    ]
    sure = manifest["facts"].get("calibration")
    if figures:
        lines += ["On rows that were not used for training, in per cent:", ""]
        lines += [*_table(("figure", "value"), ((key, f"{value:.2f}") for key, value in figures.items())), ""]
    if sure is not None:
        held_out = sure["held_out"]
        percent = {key: f"{100 * held_out[key]:.1f}" for key in ("precision", "recall", "f1") if key in held_out}
        lines += [
            f"The labels that the rule `{sure['assign']}` assigns, on {held_out['rows']:,} training rows that were "
            f"held out in turn, in per cent; {held_out['labels_a_row']:.1f} labels a row:",
            "",
            *_table(("figure", "value"), percent.items()),
            "",
        ]
    if not figures and sure is None:
        lines += ["Nothing was measured.", ""]
    settings = {f"`{key}`": f"`{value}`" for key, value in sorted(manifest["parameters"].items())}
    return "\n".join([*lines, "## Settings", "", *_table(("parameter", "value"), settings.items()), ""])


def _table(head: tuple[str, str], rows: Any) -> list[str]:
    return [f"| {head[0]} | {head[1]} |", "|---|---|", *(f"| {left} | {right} |" for left, right in rows)]


def _library() -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise MissingExtraError("models on the Hub need huggingface_hub: pip install 'labelwood[hub]'") from None
    return huggingface_hub


@contextlib.contextmanager
def _told(name: str) -> Iterator[None]:
    try:
        yield
    except LabelwoodError:
        raise
    except Exception as error:  # which errors a failed connection gives depends on the version of the library
        reason = str(error).strip().partition("\n")[0]
        raise HubError(f"{SCHEME}{name}: {type(error).__name__}: {reason:.300}") from None


def _second_name(file: Path, target: Path) -> None:
    try:
        os.link(file, target)
    except OSError:  # another file system, or one without links
        shutil.copyfile(file, target)
