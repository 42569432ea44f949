"""The usual names of columns in tables of people: for titles, texts, labels and ids, in seven languages.

They are compared without case and accents, and "-" and "_" are spaces. A name is here for one purpose only, so words
that mean a label in one table and a title in another, such as "subject" and "Thema", are not.
"""

from __future__ import annotations

import unicodedata


def plain_name(name: str) -> str:
    """The name as it is compared: small letters without accents, single spaces in place of "-" and "_"."""
    letters = unicodedata.normalize("NFKD", name.replace("-", " ").replace("_", " ").casefold())
    return " ".join("".join(letter for letter in letters if not unicodedata.combining(letter)).split())


def _names(*languages: str) -> tuple[str, ...]:
    """The names in the order in which they are looked for, the first language first; commas stand between them."""
    return tuple(dict.fromkeys(plain_name(name) for names in languages for name in names.split(",")))


TITLE_NAMES = _names(
    "title, headline, name",
    "Titel, Überschrift, Ueberschrift, Betreff, Bezeichnung, Artikelbezeichnung, Produktname, Artikelname",
    "otsikko, nimeke, nimi, tuotenimi",
    "rubrik, namn, benämning, produktnamn",
    "titre, intitulé, nom, objet",
    "título, nombre, asunto",
    "titolo, nome, oggetto",
)
TEXT_NAMES = _names(
    "text, content, body, description, abstract, document, summary, sentence, question, review, comment, message",
    "Inhalt, Beschreibung, Produktbeschreibung, Artikelbeschreibung, Langbeschreibung, Kurzbeschreibung, Volltext, "
    "Zusammenfassung, Dokument, Satz, Frage, Bewertung, Kommentar, Nachricht",
    "teksti, sisältö, kuvaus, tuotekuvaus, tiivistelmä, asiakirja, lause, kysymys, arvostelu, kommentti, viesti",
    "innehåll, brödtext, beskrivning, produktbeskrivning, sammanfattning, dokument, mening, fråga, recension, "
    "meddelande",
    "texte, contenu, corps, résumé, phrase, avis, commentaire",
    "texto, contenido, cuerpo, descripción, resumen, documento, frase, pregunta, reseña, comentario, mensaje",
    "testo, contenuto, corpo, descrizione, riassunto, domanda, recensione, commento, messaggio",
)
LABEL_NAMES = _names(
    "labels, tags, categories, label, tag, category, subjects, keywords, topics, classes, target_ind, targets",
    "Schlagwörter, Schlagwoerter, Schlagworte, Stichwörter, Stichwoerter, Stichworte, Etiketten, Deskriptoren, "
    "Kategorien, Themen, Klassen, Schlagwort, Stichwort, Kategorie",
    "asiasanat, avainsanat, tunnisteet, tagit, kategoriat, luokat, aiheet, asiasana, avainsana, kategoria, luokka",
    "ämnesord, nyckelord, taggar, etiketter, kategorier, ämnen, klasser, tagg, etikett",
    "mots-clés, étiquettes, descripteurs, catégories, sujets, thèmes, mot-clé, étiquette, catégorie",
    "etiquetas, palabras clave, categorías, materias, temas, clases, etiqueta, categoría",
    "etichette, parole chiave, categorie, soggetti, argomenti, temi, classi, etichetta",
)
ID_NAMES = _names("id, document_id, uid, doc_id", "Kennung", "tunnus", "identifiant", "identificador", "identificativo")
