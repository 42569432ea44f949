// The review queue: rows in the order in which they need a person, decisions, and the way back. It knows no elements.

/** How sure the service is of a label, as far as it says. */
export function sureness(label) {
  return label.probability ?? label.score;
}

/** Expected mistakes of a row: what is lost if each label is decided by its more probable side. */
export function doubt(labels) {
  return labels.reduce((sum, label) => sum + Math.min(clipped(label), 1 - clipped(label)), 0);
}

/** How much the given tags and the model contradict each other: given but improbable, or probable but not given. */
export function disagreement(labels, given) {
  const known = new Map(labels.map((label) => [label.name, clipped(label)]));
  const missing = given.reduce((sum, name) => sum + 1 - (known.get(name) ?? 0), 0);
  const surplus = labels.reduce((sum, label) => {
    const wanted = label.assigned ?? clipped(label) >= 0.5;
    return sum + (wanted && !given.includes(label.name) ? clipped(label) : 0);
  }, 0);
  return missing + surplus;
}

function clipped(label) {
  return Math.min(1, Math.max(0, sureness(label)));
}

/** Rows of a file: {text, given (null: the file has no tags), labels (the answers), decided, done, sent}. */
export class Queue {
  constructor(rows, order) {
    this.rows = rows;
    this.order = rows.map((_, number) => number);
    const weight = { unsure: (row) => doubt(row.labels), disagree: (row) => disagreement(row.labels, row.given ?? []) }[order];
    if (weight) {
      const weights = rows.map(weight);
      this.order.sort((a, b) => weights[b] - weights[a] || a - b);
    }
    this.place = 0;
    this.past = []; // {row, decided, done, place}: what undo restores
  }

  get row() {
    return this.rows[this.order[this.place]];
  }

  get nDone() {
    return this.rows.filter((row) => row.done).length;
  }

  _remember(row) {
    const before = { row, decided: new Map(row.decided), done: row.done, sent: row.sent, place: this.place };
    this.past.push(before);
  }

  /** Decide one tag of the current row: true it belongs, false it does not. */
  decide(name, belongs) {
    this._remember(this.row);
    this.row.decided.set(name, belongs);
    this.row.sent = false;
  }

  /** The current row is right as it is shown; go on to the next open one. */
  finish() {
    this._remember(this.row);
    this.row.done = true;
    this.row.sent = false;
    this.forward();
  }

  /** To the next row that is not done, from here on and then from the start; stays if there is none. */
  forward() {
    const n = this.order.length;
    for (let step = 1; step <= n; step += 1) {
      const place = (this.place + step) % n;
      if (!this.rows[this.order[place]].done) {
        this.place = place;
        return;
      }
    }
  }

  move(step) {
    this.place = Math.min(this.order.length - 1, Math.max(0, this.place + step));
  }

  /** Take the last decision back; false if there is none. */
  undo() {
    const before = this.past.pop();
    if (!before) return false;
    Object.assign(before.row, { decided: before.decided, done: before.done, sent: before.sent });
    this.place = before.place;
    return true;
  }

  /** Rows that are done and whose tags the service does not have yet. */
  unsent() {
    return this.rows.filter((row) => row.done && !row.sent);
  }
}

/** Whether a tag belongs to a row as it stands: decided, else given, else assigned by the model. */
export function belongs(name, label, given, decided) {
  return decided.get(name) ?? (given === null ? label?.assigned ?? false : given.includes(name));
}

/** All tags of a row as they stand: its own in their order, then the model's and the added ones. */
export function finalTags({ labels, given, decided }) {
  const byName = new Map(labels.map((label) => [label.name, label]));
  const names = new Set([...(given ?? []), ...byName.keys(), ...decided.keys()]);
  return [...names].filter((name) => belongs(name, byName.get(name), given, decided));
}
