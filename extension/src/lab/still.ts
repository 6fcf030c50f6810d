// A saved lab, drawn from its data alone: nothing is executed, nothing is asked of a kernel. The view draws all text as
// text, and pictures through its allow-list (../view/pictures/sanitise.ts), so this is safe in a page nobody trusts.
import { documentHost } from "../view/host";
import { mount } from "../view/mount";
import type { Document } from "../view/payload";

const SCHEMA = 1; // tvmlab/view/payload.py

/** Draws the document into the element; returns how to take it away again. What cannot be read says so instead. */
export function showDocument(element: HTMLElement, data: unknown): () => void {
  const trouble = complaint(data);
  if (trouble) return say(element, trouble);
  try {
    return mount(element, documentHost(readable(data as Document)));
  } catch (error) {
    element.replaceChildren();
    return say(element, `This saved lab could not be drawn (${String(error)}). Run its cell to make it anew.`);
  }
}

/** Without the pictures and sources that do not say what they are: the rest can be read all the same. */
export function readable(data: Document): Document {
  const named = (it: unknown) => isRecord(it) && typeof it.kind === "string" && it.kind !== "";
  return { ...data, pictures: data.pictures.filter(named), sources: data.sources.filter(named) };
}

/** Why the data is no document that can be drawn, or "". */
export function complaint(data: unknown): string {
  if (!isRecord(data) || typeof data.schema !== "number") return "This is not a saved lab.";
  if (data.schema > SCHEMA) {
    return "This lab was saved by a newer version of tvmlab. Update tvmlab to see it; nothing of it is lost.";
  }
  const { state } = data;
  const lists = [data.pictures, data.sources];
  if (!isRecord(state) || !lists.every(Array.isArray)) return "This saved lab is damaged: parts of it are missing.";
  const records = ["head", "history", "frame", "actions", "runs", "message", "story"];
  const missing = records.filter((name) => !isRecord(state[name]));
  const arrays: [string, string][] = [["history", "steps"], ["frame", "tree"], ["frame", "loops"], ["story", "frames"]];
  const there = arrays.filter(([trait]) => !missing.includes(trait));
  const wrong = there.filter(([trait, name]) => !Array.isArray((state[trait] as Record<string, unknown>)[name]));
  if (missing.length || wrong.length || !Array.isArray(state.selection)) {
    return `This saved lab is damaged: ${[...missing, ...wrong.map((w) => w.join("."))].join(", ")} cannot be read.`;
  }
  return "";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function say(element: HTMLElement, text: string): () => void {
  const line = document.createElement("p");
  line.className = "tvx-note";
  line.textContent = text;
  element.append(line);
  return () => line.remove();
}
