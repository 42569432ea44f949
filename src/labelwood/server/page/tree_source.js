// Where trees come from: a source names its roots and tells what is below a node. A thesaurus can be another source.

import * as api from "./api.js";
import { counted } from "./language.js";

/**
 * The label tree of a model. open(text, number, node) gives the entries below a node:
 * {id (null: nothing below it), title, note, chance (undefined: no text), total (chance is of the whole way)}.
 */
export function labelTreeSource(about) {
  return {
    count: about.trees,
    async open(text, number, node, signal) {
      const answer = await api.tree(text, number, node, signal);
      const groups = answer.children.map((child) => ({
        id: child.node,
        title: child.names.join(", ") + (child.n_labels > child.names.length ? " …" : ""),
        note: counted("tree_tags", child.n_labels),
        chance: child.chance,
        total: false,
      }));
      const labels = answer.labels.map((label) => ({
        id: null, title: label.name, note: counted("rows", label.rows), chance: label.score, total: true,
      }));
      return [...groups, ...labels].sort((a, b) => (b.chance ?? 0) - (a.chance ?? 0));
    },
  };
}
