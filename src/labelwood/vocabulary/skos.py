"""SKOS vocabularies in any RDF notation: Turtle, RDF/XML, JSON-LD, N-Triples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labelwood.errors import DataError, ParamError
from labelwood.vocabulary.builder import Statements
from labelwood.vocabulary.vocabulary import Vocabulary

# The ending of a file's name -> what pyoxigraph calls the notation.
NOTATIONS = {".ttl": "TURTLE", ".nt": "N_TRIPLES", ".rdf": "RDF_XML", ".xml": "RDF_XML", ".owl": "RDF_XML",
             ".jsonld": "JSON_LD", ".n3": "N3"}  # fmt: skip
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
_DEPRECATED = "http://www.w3.org/2002/07/owl#deprecated"
_REPLACED = "http://purl.org/dc/terms/isReplacedBy"


def read_skos(raw: bytes, notation: str, path: Path) -> Vocabulary:
    """The concepts of an RDF file; DataError with the place if it cannot be read or holds none.

    A concept is what the file calls skos:Concept, and what it calls deprecated in a scheme. Its name is skos:prefLabel,
    else rdfs:label. A concept that is marked owl:deprecated or replaced by another one is deprecated.
    """
    try:
        import pyoxigraph
    except ImportError:
        raise ParamError(f'{path}: SKOS needs the package pyoxigraph: pip install "labelwood[vocabulary]"') from None
    statements = Statements()
    plain_labels: dict[tuple[str, str], str] = {}
    in_scheme: set[str] = set()
    base = path.absolute().as_uri()
    try:
        for triple in pyoxigraph.parse(raw, format=getattr(pyoxigraph.RdfFormat, notation), base_iri=base):
            subject, predicate, value = triple.subject.value, triple.predicate.value, triple.object
            _take(statements, subject, predicate, value, plain_labels, in_scheme)
    except (SyntaxError, ValueError) as error:
        raise DataError(f"{path}: is no {notation.replace('_', '-').title()} that can be read ({error})") from None
    for concept in sorted(statements.deprecated & in_scheme):
        statements.concepts.setdefault(concept)
    for (concept, language), name in plain_labels.items():
        statements.preferred.setdefault((concept, language), name)
    if not statements.concepts:
        raise DataError(f"{path}: holds no skos:Concept")
    return statements.built()


def _take(
    statements: Statements,
    subject: str,
    predicate: str,
    value: Any,
    plain_labels: dict[tuple[str, str], str],
    in_scheme: set[str],
) -> None:
    """Note what one statement says."""
    word = predicate.removeprefix(_SKOS) if predicate.startswith(_SKOS) else predicate
    if word == _TYPE:
        if value.value == f"{_SKOS}Concept":
            statements.concepts.setdefault(subject)
    elif word == "prefLabel":
        statements.preferred.setdefault((subject, value.language or ""), value.value)
    elif word in ("altLabel", "hiddenLabel"):
        statements.others.setdefault((subject, value.language or "", value.value))
    elif word == _LABEL:
        plain_labels.setdefault((subject, getattr(value, "language", None) or ""), value.value)
    elif word == "broader":
        statements.broader.setdefault((subject, value.value))
    elif word == "narrower":
        statements.broader.setdefault((value.value, subject))
    elif word in ("inScheme", "topConceptOf"):
        statements.members.setdefault((subject, value.value))
        in_scheme.add(subject)
    elif (word == _DEPRECATED and value.value in ("true", "1")) or word == _REPLACED:
        statements.deprecated.add(subject)
