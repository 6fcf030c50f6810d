// The program: its loops, what is made of them, and what changed.
import { useState } from "preact/hooks";
import { useKeys } from "../keys";
import { useStore, type Store } from "../store";
import { CardView } from "../ui/card";
import { Pane } from "../ui/pane";
import { tabPanel, Tabs } from "../ui/tabs";
import { BaseMenu, baseName, nextBase } from "./base";
import { Body } from "./body";
import { Passes } from "./passes";
import { useDiff, useKinds, useText, type Base } from "./sources";
import "./code.css";

export function CodePane() {
  const store = useStore();
  const kinds = useKinds(store);
  const kind = kinds.some((k) => k.kind === store.source.value) ? store.source.value : "loops";
  const name = `${store.uid}-code`;
  const tabs = kinds.map((k) => ({ id: k.kind, label: k.label }));
  const head = <Tabs label="Program text" name={name} tabs={tabs} current={kind} onPick={(id) => (store.source.value = id)} />;
  return (
    <Pane name="code" title="Code" head={head} of={`${store.shown.value.key} ${kind}`}>
      <div class="tvl-code" role="tabpanel" id={tabPanel(name)} aria-label={kinds.find((k) => k.kind === kind)?.label}>
        {kind === "passes" ? <Passes store={store} /> : <Source store={store} kind={kind} />}
      </div>
    </Pane>
  );
}

function Source({ store, kind }: { store: Store; kind: string }) {
  const [base, setBase] = useState<Base>("none");
  const text = useText(store, kind);
  const loops = kind === "loops";
  const diff = useDiff(store, loops ? base : "none");
  const preview = loops ? store.preview.value : null;
  const label = preview ? "what the action would change" : diff && base !== "none" ? baseName(store, base) : "";
  useKeys(
    "code",
    loops
      ? { d: { does: "compare with: nothing, the step before, the pinned schedule", run: () => setBase(nextBase(store, base)) } }
      : {},
  );
  return (
    <Body
      store={store}
      kind={kind}
      lines={text.lines}
      diff={preview?.diff.length ? preview.diff : diff}
      label={label}
      preview={!!preview?.diff.length}
      tools={loops && <BaseMenu store={store} base={base} onPick={setBase} />}
      stale={text.stale}
    >
      {text.error && (
        <CardView
          card={text.error}
          onShow={(ids) => store.select(ids)}
          onMove={store.acting.value ? (move) => void store.act({ kind: "apply", act: move.act }, "code") : undefined}
        />
      )}
      {text.note && <p class="tvl-note tvl-pre">{text.note}</p>}
    </Body>
  );
}
