// Shows lab.json (a payload.Document) read-only, or with ?live as a kernel would, answered by nobody but this file.
import lab, { open } from "../../tvmlab/view/static/lab.js";

const query = new URLSearchParams(location.search);
const dark = query.has("dark");
document.documentElement.dataset.theme = dark ? "dark" : "light";
const element = document.getElementById("lab");
if (query.has("width")) element.style.width = `${query.get("width")}px`;
const data = await (await fetch(query.get("of") ?? "lab.json")).json();

function fakeModel() {
  const state = structuredClone(data.state);
  const listeners = new Map();
  const fire = (name, ...args) => (listeners.get(name) ?? []).forEach((f) => f(...args));
  const set = (name, value) => {
    state[name] = value;
    fire(`change:${name}`);
  };
  const answers = {
    jump: ({ cursor }) => {
      set("history", { ...state.history, cursor });
      const { frames, lines, rows } = state.story;
      const f = frames[cursor];
      if (f) set("frame", { ...f, loops: f.loops.map((i) => lines[i]), tree: f.tree.map((i) => rows[i]) });
    },
    undo: () => answers.jump({ cursor: Math.max(0, state.history.cursor - 1) }),
    redo: () => answers.jump({ cursor: Math.min(state.history.steps.length, state.history.cursor + 1) }),
    select: ({ ids }) => set("selection", ids),
    options: ({ values }) => set("runs", { ...state.runs, options: { ...state.runs.options, ...values } }),
    drawer: () => data.drawer,
    typed: ({ text }) => (text.includes("B[i]") ? data.typed : { ok: true, tensors: ["A: float32[64, 64]"], error: "", line: 0, start: 0, end: 0 }),
  };
  return {
    get: (name) => state[name],
    on: (name, f) => listeners.set(name, [...(listeners.get(name) ?? []), f]),
    off: (name, f) => listeners.set(name, (listeners.get(name) ?? []).filter((g) => g !== f)),
    send: (request) => {
      window.asked = [...(window.asked ?? []), request];
      if (request.kind in answers || !query.has("slow"))
        setTimeout(() => fire("msg:custom", { re: request.seq, ok: true, data: answers[request.kind]?.(request) ?? null, card: null }), 5);
    },
    save_changes() {},
  };
}

if (query.has("live")) lab.render({ model: fakeModel(), el: element });
else open(element, data);
