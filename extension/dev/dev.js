// Shows lab.json (a payload.Document) read-only, or with ?live as a kernel would, answered by nobody but this file.
import lab, { open } from "../../tvmlab/view/static/lab.js";
import { fakeTuner, WHOLE } from "./kernel.js";

const query = new URLSearchParams(location.search);
const dark = query.has("dark");
document.documentElement.dataset.theme = dark ? "dark" : "light";
const element = document.getElementById("lab");
if (query.has("width")) element.style.width = `${query.get("width")}px`;
const data = await (await fetch(query.get("of") ?? "lab.json")).json();

// With ?tune=200: so many trials were measured; while the state is running, some more each time that it is asked for.
// With &whole: in the space of a whole expression. With &done: the fastest were timed again.
const tuner = fakeTuner({ trials: 256, ...(query.has("whole") ? { knobs: WHOLE, source: "generic" } : {}) });
if (query.get("tune")) tuner.measure(Number(query.get("tune")));
if (query.has("done")) tuner.finish();
if (query.has("running")) tuner.state.state = "running";

const staticText = async (name) => (await fetch(`../../tvmlab/view/static/${name}`)).text();

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
    module: async () => ({ js: await staticText("tune.js"), css: await staticText("tune.css") }),
    tune: (request) => {
      if (request.what === "state" && tuner.state.state === "running") tuner.measure(Number(query.get("by") ?? 2));
      const { frame } = state;
      const answer = tuner.answer(request);
      return request.what === "trial" ? { ...answer, tree: frame.tree, diff: frame.loops.map((line, at) => ({ sign: at % 3 ? " " : "~", line, at })) } : answer;
    },
    typed: ({ text }) => (text.includes("B[i]") ? data.typed : { ok: true, tensors: ["A: float32[64, 64]"], error: "", line: 0, start: 0, end: 0 }),
  };
  return {
    get: (name) => state[name],
    on: (name, f) => listeners.set(name, [...(listeners.get(name) ?? []), f]),
    off: (name, f) => listeners.set(name, (listeners.get(name) ?? []).filter((g) => g !== f)),
    send: (request) => {
      window.asked = [...(window.asked ?? []), request];
      if (request.kind in answers || !query.has("slow"))
        setTimeout(async () => {
          const answer = (await answers[request.kind]?.(request)) ?? null;
          fire("msg:custom", { re: request.seq, ok: true, data: answer, card: null });
        }, 5);
    },
    save_changes() {},
  };
}

if (query.has("live")) lab.render({ model: fakeModel(), el: element });
else open(element, data);
