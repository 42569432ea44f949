"""The table of formats: their names, how a file of each is recognised, and who reads and writes it.

A format is one line here and one file in `reading/` (and one in `writing/`, if it is written). Readers and writers are
named, not imported: what a file does not need is not loaded.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from labelwood.data.reading.start import Start


@dataclass(frozen=True)
class Format:
    """One format; functions are named as `module:function` of `data/reading` or `data/writing`.

    holds: what its rows are; readers of texts take TableOptions and give TextRows, readers of features take a path and
    give a Dataset. names: a pattern of file names (without .gz and .zst) that say the format, whatever the content.
    content: tells the format from a Start. written_as: names that ask `write` for it though reading looks inside.
    unit: what a row is called in messages. encoded: it is text, so that `encoding` has a meaning.
    """

    name: str
    help: str
    holds: Literal["features", "texts"]
    read: str
    names: str = ""
    content: str = ""
    write: str = ""
    written_as: str = ""
    unit: str = "line"
    encoded: bool = True

    def has_name(self, name: str) -> bool:
        """True if files named so are of this format, whatever they hold."""
        return bool(self.names and re.fullmatch(self.names, name))

    def is_asked_by(self, name: str) -> bool:
        """True if a file to be written under this name is to have this format."""
        return self.has_name(name) or bool(self.written_as and re.fullmatch(self.written_as, name))

    def is_content(self, start: Start) -> bool:
        """True if a file that begins so is of this format."""
        return bool(self.content and _function("reading", self.content)(start))

    def reader(self) -> Callable[..., Any]:
        """The function that reads it."""
        return _function("reading", self.read)

    def writer(self) -> Callable[..., Any]:
        """The function that writes it; only where `write` names one."""
        return _function("writing", self.write)


# Content is asked in this order: tsv comes last, because any lines with tabs fit it.
FORMATS = {
    format.name: format
    for format in (
        Format("xmc", "XMC repository text: header `rows features labels`, then `l1,l2 f:v f:v`", "features",
               read="xmc_format:read_xmc", content="xmc_format:is_xmc",
               write="matrix_write:write_xmc", written_as=r"(?i:.*\.txt)"),
        Format("xmc-split", "XMC repository pair: trn_X_Xf.txt and trn_X_Y.txt with headers `rows columns`", "features",
               read="xmc_format:read_xmc_split", names=r".+_X_(?:Xf|Y)\.txt", write="matrix_write:write_xmc_split"),
        Format("svmlight", "multi-label svmlight / libsvm: `1,3 1:0.5 9:2`, no header", "features",
               read="svmlight:read_svmlight", names=r"(?i:.*\.(?:svm|svmlight|libsvm))",
               content="svmlight:is_svmlight", write="matrix_write:write_svmlight"),
        Format("npz", "scipy sparse pair: X.trn.npz and Y.trn.npz", "features",
               read="npz:read_npz", names=r"(?i:.*\.npz)", write="matrix_write:write_npz"),
        Format("arff", "Mulan / MEKA ARFF, sparse or dense, with labels from the .xml, `-C n` or n_labels", "features",
               read="arff:read_arff", names=r"(?i:.*\.arff)", content="arff:is_arff"),
        Format("csv", "table with a text column and a label column", "texts",
               read="delimited:read_csv", names=r"(?i:.*\.csv)", write="table_write:write_csv"),
        Format("label-studio", "JSON tasks of Label Studio, for a name such as rows.label-studio.json", "texts",
               read="annotated:read_label_studio", names=r"(?i:.*\.label-studio\.json)",
               write="annotation_write:write_label_studio"),
        Format("argilla", "JSON records of Argilla, for a name such as rows.argilla.json", "texts",
               read="annotated:read_argilla", names=r"(?i:.*\.argilla\.json)", write="annotation_write:write_argilla"),
        Format("jsonl", "one JSON object a line with a text and a label field", "texts",
               read="jsonl:read_jsonl", names=r"(?i:.*\.(?:jsonl|ndjson|json))", content="jsonl:is_jsonl",
               write="table_write:write_jsonl"),
        Format("parquet", "Parquet table with a text column and a label column", "texts",
               read="parquet:read_parquet", names=r"(?i:.*\.(?:parquet|pq))", content="parquet:is_parquet",
               write="table_write:write_parquet", encoded=False),
        Format("excel", "spreadsheet (.xlsx, .xls, .ods) with a text column and a label column; .xlsx is written",
               "texts", read="excel:read_excel", names=r"(?i:.*\.(?:xlsx|xlsm|xlsb|xls|ods))",
               write="excel_write:write_excel", unit="row", encoded=False),
        Format("documents", "folder of .txt, .md, .html and .pdf files, labels beside each in .tsv or .key", "texts",
               read="documents:read_documents", unit="document"),
        Format("fasttext", "`__label__a __label__b text` lines", "texts",
               read="fasttext_text:read_fasttext", content="fasttext_text:is_fasttext",
               write="table_write:write_fasttext"),
        Format("annif", "`text<TAB><uri1> <uri2>` lines", "texts",
               read="annif_text:read_annif", content="annif_text:is_annif", write="table_write:write_annif"),
        Format("pecos", "`0,1,2<TAB>text` lines, labels by number", "texts",
               read="labelled_lines:read_pecos", content="labelled_lines:is_pecos"),
        Format("libmultilabel", "`id<TAB>label1 label2<TAB>text` lines; the id may be missing", "texts",
               read="labelled_lines:read_libmultilabel", content="labelled_lines:is_libmultilabel"),
        Format("tsv", "table with a text column and a label column, tabs between", "texts",
               read="delimited:read_tsv", content="delimited:is_tsv",
               write="table_write:write_tsv", written_as=r"(?i:.*\.(?:tsv|tab))"),
    )
}  # fmt: skip


def format_names(holds: str | None = None) -> list[str]:
    """The names of all formats, or of those that hold 'features' or 'texts'."""
    return [format.name for format in FORMATS.values() if holds in (None, format.holds)]


def recognised(start: Start) -> Format | None:
    """The format of a file that begins so: its name says it, or its content; None if neither does."""
    for format in FORMATS.values():
        if format.has_name(start.name):
            return format
    for format in FORMATS.values():
        # Numbers in a .tsv are a table of numbers: its name rules the feature formats out.
        if (format.holds == "texts" or start.suffix != ".tsv") and format.is_content(start):
            return format
    return None


def taken_by(function: Callable[..., Any]) -> frozenset[str]:
    """The arguments that a reader or writer takes beside its first ones: `read` and `write` pass these alone."""
    parameters = inspect.signature(function).parameters.values()
    return frozenset(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)


def _function(folder: str, place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(f"labelwood.data.{folder}.{module}"), name)
    return function
