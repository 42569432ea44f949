"""Controlled vocabularies: ids, names in several languages, broader and narrower; read from SKOS, TSV and CSV."""
