// Pictures of the schedule, each with its table.
import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer, type Kind } from "../code/sources";
import { useKeys } from "../keys";
import type { Param, Picture, Table } from "../payload";
import { useStore, type Store } from "../store";
import { toggled } from "../tree/outline";
import { Button } from "../ui/button";
import { CardView } from "../ui/card";
import { Chip } from "../ui/chip";
import { download } from "../ui/clipboard";
import { Pane } from "../ui/pane";
import { ParamField } from "../ui/param";
import { Spinner } from "../ui/spinner";
import { DataTable } from "../ui/table";
import { tabPanel, Tabs } from "../ui/tabs";
import { Drawing } from "./drawing";
import { metricsTable } from "./levels";
import { MetricsView } from "./metrics";
import { png, standalone } from "./save";
import "./pictures.css";

interface Drawn extends Kind {
  about?: string;
}

const METRICS: Drawn = { kind: "metrics", label: "Metrics" };

export function PicturesPane() {
  const store = useStore();
  const kinds = useKinds(store);
  const wanted = store.picture.value;
  const kind = kinds.some((k) => k.kind === wanted) ? wanted : (kinds[0]?.kind ?? "");
  const name = `${store.uid}-picture`;
  const head = (
    <Tabs
      label="Pictures"
      name={name}
      tabs={kinds.map((k) => ({ id: k.kind, label: k.label }))}
      current={kind}
      onPick={(id) => (store.picture.value = id)}
    />
  );
  const shown = kinds.find((k) => k.kind === kind);
  const body = useRef<HTMLDivElement>(null);
  const ready = useSeen(body);
  return (
    <Pane name="pictures" title="Pictures" head={head} of={`${store.shown.value.key} ${kind}`}>
      <div
        class="tvl-pictures"
        role="tabpanel"
        id={tabPanel(name)}
        aria-label={shown?.label}
        ref={body}
      >
        {ready && kind && <One key={kind} store={store} kind={kind} about={shown?.about} />}
      </div>
    </Pane>
  );
}

/** What can be drawn; the metrics always can. */
function useKinds(store: Store): Drawn[] {
  const [kinds, setKinds] = useState<Drawn[]>([]);
  const acting = store.acting.value;
  useEffect(() => {
    let wanted = true;
    if (!acting) {
      const saved = (store.host.document?.pictures ?? []).map(({ kind, about }) => ({
        kind,
        about,
        label: kind[0]!.toUpperCase() + kind.slice(1),
      }));
      if (!kinds.length) setKinds(saved);
      return;
    }
    void store
      .ask({ kind: "picture", what: "" })
      .then((reply) => wanted && Array.isArray(reply.data) && setKinds(reply.data as Drawn[]));
    return () => {
      wanted = false;
    };
  }, [store, acting]);
  return kinds.some((k) => k.kind === METRICS.kind) ? kinds : [...kinds, METRICS];
}

/** True once the pane is on the screen and the rest has been painted: the first picture takes the kernel half a second. */
function useSeen(box: { current: HTMLElement | null }): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const later = () =>
      "requestIdleCallback" in window
        ? requestIdleCallback(() => setSeen(true), { timeout: 500 })
        : setTimeout(() => setSeen(true), 50);
    if (typeof IntersectionObserver === "undefined" || !box.current) return void later();
    const watch = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watch.disconnect();
      later();
    });
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  return seen;
}

function One({ store, kind, about }: { store: Store; kind: string; about: string | undefined }) {
  const local = kind === METRICS.kind;
  const { picture, card, stale, note } = usePicture(store, kind);
  const [table, setTable] = useState(false);
  const [open, setOpen] = useState(false);
  const [fit, setFit] = useState(true);
  const holder = useRef<HTMLDivElement>(null);
  const metrics = store.shown.value.metrics;
  const twin: Table | undefined = local ? metricsTable(metrics) : picture?.table;
  const svg = () => holder.current?.querySelector<SVGSVGElement>("svg") ?? null;
  const file = `${store.head.value.title || "schedule"} ${kind}`;
  const look = (values: Record<string, unknown>) => void store.act({ kind: "look", what: kind, values }, "picture");
  const pick = (id: string, more = false) => {
    if (id[0] === "?") look(Object.fromEntries(new URLSearchParams(id)));
    else store.select(more ? toggled(store.selection.value, id) : [id]);
  };
  const savePng = async () => {
    const drawn = svg();
    const blob = drawn && (await png(drawn, getComputedStyle(drawn.closest(".tvl")!).backgroundColor).catch(() => null));
    if (blob) download(`${file}.png`, blob, blob.type);
    else store.said.value = "The browser could not make a PNG of it.";
  };
  useKeys("pictures", {
    t: { does: "table instead of the picture, and back", run: () => setTable(!table) },
    f: { does: "fitted to the pane, or at its own size", run: () => setFit(!fit) },
  });
  const off = table && "show the picture first";
  return (
    <>
      <div class="tvl-code-bar">
        <Button kind="quiet" label="Table" hint="t" pressed={table} onClick={() => setTable(!table)} />
        <Button
          kind="quiet"
          label="SVG"
          hint="save as SVG"
          off={off}
          onClick={() => svg() && download(`${file}.svg`, standalone(svg()!), "image/svg+xml")}
        />
        <Button
          kind="quiet"
          label="PNG"
          hint="save as PNG"
          off={off}
          onClick={() => void savePng()}
        />
        {picture?.dot && (
          <Button kind="quiet" label="DOT" hint="save the graph's text" onClick={() => download(`${file}.dot`, picture.dot!)} />
        )}
        <Button kind="quiet" label="About" hint="what is this?" pressed={open} onClick={() => setOpen(!open)} />
        {!local && <Button kind="quiet" label="Fit" hint="f" pressed={fit} onClick={() => setFit(!fit)} />}
        {stale && <Spinner label="the picture of this step is on its way" />}
      </div>
      {open && (
        <p class="tvl-note">
          {about ?? picture?.about} {(local || picture?.how) && <Chip>{local ? "modelled" : picture!.how}</Chip>}
        </p>
      )}
      {note && <p class="tvl-note">{note}</p>}
      {store.acting.value && picture?.params && <Looked params={picture.params} done={!stale} id={store.uid} onLook={look} />}
      {card && <CardView card={card} onShow={(ids) => store.select(ids)} />}
      <div class={`tvl-picture${stale ? " tvl-stale-text" : ""}`} tabIndex={0} role="group" aria-label="The picture; it scrolls">
        {table && twin ? (
          <DataTable table={twin} onPick={(id) => pick(id)} />
        ) : local ? (
          <div
            ref={holder}
            onClick={(event) => {
              const id = (event.target as Element).closest("[data-id]")?.getAttribute("data-id");
              if (id) pick(id, event.ctrlKey || event.metaKey || event.shiftKey);
            }}
          >
            <MetricsView store={store} metrics={metrics} />
          </div>
        ) : picture ? (
          <Drawing
            svg={picture.svg}
            label={`${picture.table.title || kind}. The table says the same.`}
            fit={fit}
            selected={store.selection.value}
            hover={store.hover.value}
            onPick={pick}
            onHover={(id) => (store.hover.value = id)}
            holder={holder}
          />
        ) : stale ? (
          <p class="tvl-empty">Drawing …</p>
        ) : null}
      </div>
    </>
  );
}

interface LookedProps {
  params: Param[];
  /** What was chosen last is shown. */
  done: boolean;
  id: string;
  onLook: (values: Record<string, unknown>) => void;
}

/** What is looked at in a picture. What is being typed stays until the picture of it is there. */
function Looked({ params, done, id, onLook }: LookedProps) {
  const [typed, setTyped] = useState<Record<string, unknown>>({});
  useEffect(() => {
    if (done) setTyped({});
  }, [done, params]);
  return (
    <div class="tvl-pickers" role="group" aria-label="What to look at">
      {params.map((param) => (
        <ParamField
          key={param.name}
          id={`${id}-look-${param.name}`}
          param={param}
          value={typed[param.name] ?? param.value}
          onChange={(value) => {
            setTyped({ ...typed, [param.name]: value });
            if (param.kind === "choice" || typeof value === "number") onLook({ [param.name]: value });
          }}
        />
      ))}
    </div>
  );
}

function usePicture(store: Store, kind: string) {
  const { head, only, host, live, shown } = store;
  const local = kind === METRICS.kind;
  const key = `${shown.value.key}\n${head.value.machine}\n${runsKey(store, kind)}\n${head.value.target} ${head.value.looked}\n${kind}`;
  const { data, card, stale } = useAnswer<Picture>(store, local || !live ? "" : key, { kind: "picture", what: kind });
  if (local) return { picture: null, card: null, stale: false, note: "" };
  if (live) return { picture: data, card, stale, note: data?.note ?? "" };
  const saved = host.document?.pictures.find((p) => p.kind === kind) ?? null;
  const note = only.value && `This picture was ${only.value}.`;
  return { picture: saved, card: null, stale: false, note };
}

/** Measured points are part of a roofline: it is drawn again when a run is done. */
function runsKey(store: Store, kind: string): string {
  return kind === "roofline" ? store.runs.value.rows.map((run) => `${run.id}${run.state}${run.pinned}`).join() : "";
}
