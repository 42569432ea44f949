// CSV files, read and written in the browser (RFC 4180; comma, semicolon or tab; quoted fields may hold line breaks).

const DELIMITERS = [",", ";", "\t"];

/** The text of a file's bytes: UTF-8, UTF-16 by its mark, else Windows-1252. */
export function decoded(bytes) {
  const start = new Uint8Array(bytes.slice(0, 2));
  if (start[0] === 0xff && start[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (start[0] === 0xfe && start[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

/** {columns, rows, delimiter} of a CSV text; the first line names the columns; short lines are filled up. */
export function parse(text) {
  const delimiter = guessed(text);
  const lines = [];
  let line = [], field = "", quoted = false, at = 0;
  const endField = () => { line.push(field); field = ""; };
  const endLine = () => {
    endField();
    if (line.length > 1 || line[0].trim() !== "") lines.push(line);
    line = [];
  };
  for (; at < text.length; at += 1) {
    const letter = text[at];
    if (quoted) {
      if (letter !== '"') field += letter;
      else if (text[at + 1] === '"') { field += '"'; at += 1; }
      else quoted = false;
    } else if (letter === '"' && field === "") quoted = true;
    else if (letter === delimiter) endField();
    else if (letter === "\n") endLine();
    else if (letter !== "\r" || text[at + 1] !== "\n") field += letter;
  }
  if (field !== "" || line.length) endLine();
  const columns = (lines.shift() ?? []).map((name) => name.trim());
  return { columns, rows: lines.map((cells) => columns.map((_, place) => cells[place] ?? "")), delimiter };
}

function guessed(text) {
  const counts = new Map(DELIMITERS.map((delimiter) => [delimiter, 0]));
  let quoted = false;
  for (const letter of text) {
    if (letter === '"') quoted = !quoted;
    else if (letter === "\n" && !quoted) break;
    else if (!quoted && counts.has(letter)) counts.set(letter, counts.get(letter) + 1);
  }
  return DELIMITERS.reduce((best, delimiter) => (counts.get(delimiter) > counts.get(best) ? delimiter : best));
}

/** Rows as CSV text; fields are quoted where they must be. */
export function written(rows, delimiter) {
  const unsafe = new RegExp(`["\r\n${delimiter}]|^\\s|\\s$`);
  const cell = (text) => (unsafe.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return rows.map((row) => row.map(cell).join(delimiter)).join("\r\n") + "\r\n";
}

/** What may stand between the tags of a cell. */
export const SEPARATORS = ["|", ";", "\n", ","];

/** What separates tags within a cell: the first that occurs in some cells (never the column delimiter). */
export function guessedSeparator(cells, delimiter) {
  return SEPARATORS.find((sign) => sign !== delimiter && cells.some((cell) => cell.includes(sign))) ?? "|";
}

/** The tags of a cell, each once. */
export function tagsOf(cell, separator) {
  return [...new Set(cell.split(separator).map((tag) => tag.trim()).filter(Boolean))];
}
