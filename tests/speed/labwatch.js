// When was what a person did painted? `tvlWatch` in a page with a lab: arm it, do something, ask it.
//
// Time runs from the browser's own event (a click, a key, the pointer over something) to the first frame after the lab
// is ready and has stopped changing. Pictures are told apart: the engine that draws them is given its time.
(() => {
  const GAP = 30; // ms without a change: then that was all of it
  const LIMIT = 20_000;
  const lab = () => [...document.querySelectorAll(".jp-Notebook .tvl")].at(-1);
  const now = () => performance.now();
  const frame = () => new Promise((painted) => requestAnimationFrame(() => {
    const after = new MessageChannel(); // its message comes when the frame is on the screen
    after.port1.onmessage = () => painted(now());
    after.port2.postMessage(0);
  }));
  const rest = (ms) => new Promise((done) => setTimeout(done, ms));

  const step = (n) => lab()?.querySelector("[data-pane=history] [aria-current=step]")?.id.endsWith(`-step-${n}`);
  const verdicts = () => lab()?.querySelector(".tvl-actions")?.getAttribute("aria-busy") === "false";
  const row = (id) => [...lab().querySelectorAll("[role=treeitem]")].find((r) => r.dataset.id === id);
  const READY = {
    step,
    act: (n) => step(n) && verdicts(),
    select: (id) => row(id)?.getAttribute("aria-selected") === "true" && verdicts(),
    preview: () => lab().querySelector(".tvl-would .tvl-deltas, .tvl-form .tvl-deltas"),
    shown: () => lab()?.querySelector("[role=treeitem]") && lab().querySelector("[role=option]") && verdicts(),
    again: () => READY.preview() && drawn.has("tree"), // another preview in the place of one
  };

  let watch, begun, stamps, changed, ready;
  let heard = 0;
  let drawn = new Set(); // panes, since it began
  window.tvlWatch = {
    lab, row,
    begun: () => begun,
    /** From the next event of this kind on; `kind` "": from now. */
    arm(kind, what, argument) {
      watch?.disconnect();
      [begun, stamps, changed, ready, drawn] = [kind ? 0 : now(), [], now(), 0, new Set()];
      if (kind) addEventListener(kind, (event) => { begun = event.timeStamp; heard = now(); }, { capture: true, once: true });
      watch = new MutationObserver((records) => {
        const inside = records.filter((r) => r.target.closest?.(".tvl") ?? r.target.parentElement?.closest(".tvl"));
        const names = inside.map((r) => (r.target.closest ? r.target : r.target.parentElement).closest("[data-pane]")?.dataset.pane);
        const at = now();
        if (names.some((n) => n !== "pictures")) changed = at;
        if (begun) names.forEach((n) => drawn.add(n));
        if (!ready && begun && READY[what](argument)) ready = at;
        void frame().then((painted) => stamps.push({ at, painted, names }));
      });
      watch.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
      this.is = () => READY[what](argument);
    },
    /** Milliseconds until all was painted, and by pane. */
    async done() {
      for (const limit = now() + LIMIT; ; await rest(4)) {
        if (now() > limit) throw new Error(`never ready; begun ${begun}, ready ${ready}`);
        if (!ready && begun && this.is()) ready = now(); // it was so already
        if (ready && now() - changed > GAP) break;
      }
      const last = await frame();
      watch.disconnect();
      const panes = {};
      let end = 0;
      for (const { painted, names } of stamps.filter((s) => s.at >= begun)) {
        for (const name of new Set(names)) panes[name ?? "lab"] = painted - begun;
        if (names.some((n) => n !== "pictures")) end = Math.max(end, painted);
      }
      return { ms: (end || last) - begun, panes, heard: heard - begun };
    },
    /** Waits until nothing has changed for so long. */
    async settle(ms) {
      let at = now();
      const look = new MutationObserver((records) => {
        if (records.some((r) => (r.target.closest ? r.target : r.target.parentElement)?.closest?.(".tvl"))) at = now();
      });
      look.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
      while (now() - at < ms) await rest(10);
      look.disconnect();
    },
  };
})();
