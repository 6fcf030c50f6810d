// What is scheduled, for what, whether it is legal, how fast it was, and the things done most.
import "./header.css";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useDo } from "../do";
import { useRoving } from "../focus";
import { useStore, type Drawer } from "../store";
import { Button } from "../ui/button";
import { seconds } from "../ui/format";
import { Icon } from "../ui/icon";
import { Menu, type Item } from "../ui/menu";
import { SignMark } from "../ui/sign";
import { Banner } from "./banner";
import { MoreMenu } from "./more";
import { RunButton } from "./run";

export function Header() {
  const { width, live } = useStore();
  const bar = useRef<HTMLDivElement>(null);
  useRoving(bar);
  const narrow = width.value === "narrow";
  return (
    <>
      <div class="tvl-header" role="toolbar" aria-label="Lab" data-pane="header" ref={bar}>
        <div class="tvl-header-row">
          <div class="tvl-header-what">
            <WorkloadButton />
            {narrow && <MoreMenu />}
            <TargetMenu />
            <MachineMenu />
          </div>
          {!narrow && <Taking />}
        </div>
        <div class="tvl-header-row">
          <div class="tvl-header-state">
            <LegalityBadge />
            <TimeChip />
            {!live && <span class="tvl-fact tvl-soft-text">saved copy</span>}
          </div>
          {!narrow && <Doing />}
        </div>
      </div>
      <Banner />
    </>
  );
}

/** In a narrow lab the same buttons are at the bottom, near the thumb. */
export function ActionBar() {
  const bar = useRef<HTMLDivElement>(null);
  useRoving(bar);
  return (
    <div class="tvl-action-bar" role="toolbar" aria-label="Undo, run and copy" data-pane="bar" ref={bar}>
      <Doing />
      <CopyButton />
    </div>
  );
}

function Doing() {
  const { acting, history, width } = useStore();
  const lab = useDo();
  if (!acting.value) return null;
  const bare = width.value === "narrow";
  const { undo, redo } = history.value;
  return (
    <div class="tvl-header-do">
      <span class="tvl-joined">
        <Button label="Undo" icon="undo" bare={bare} onClick={lab.undo} off={!undo && "nothing to undo"} hint={`${undo} (Ctrl+Z)`} />
        <Button label="Redo" icon="redo" bare={bare} onClick={lab.redo} off={!redo && "nothing to redo"} hint={`${redo} (Ctrl+Shift+Z)`} />
      </span>
      {!bare && <Button label="Pin" icon="pin" onClick={lab.pin} hint="to compare with (x)" />}
      <RunButton />
    </div>
  );
}

const Taking = () => (
  <div class="tvl-header-do">
    <CopyButton />
    <MoreMenu />
  </div>
);

function CopyButton() {
  const lab = useDo();
  const label = (
    <>
      Copy<span class="tvl-if-wide"> code</span>
    </>
  );
  return <Button label={label} icon="copy" onClick={lab.copyCode} hint="y" off={useStore().only.value} />;
}

interface OpenerProps {
  of: Drawer;
  title: string;
  class?: string;
  children: ComponentChildren;
}

/** A part of the header that opens a drawer, and closes it again. */
function Opener({ of, title, children, ...rest }: OpenerProps) {
  const { drawer, uid } = useStore();
  const open = drawer.value === of;
  return (
    <button
      type="button"
      id={`${uid}-${of}`}
      class={`tvl-button tvl-quiet ${rest.class ?? ""}`}
      aria-expanded={open}
      title={title}
      onClick={() => (drawer.value = open ? "" : of)}
    >
      {children}
    </button>
  );
}

function WorkloadButton() {
  const { title, expression } = useStore().head.value;
  return (
    <Opener of="workload" class="tvl-title" title={expression.join("\n")}>
      <span class="tvl-word">{title || "Choose what to schedule"}</span>
      <Icon name="down" />
    </Opener>
  );
}

function TargetMenu() {
  const { target, targets } = useStore().head.value;
  const items = targets.map((t) => ({ id: t.name, label: t.label, note: t.why, off: t.available ? "" : t.why || "not available here" }));
  return <Choice kind="target" name="Target" now={target} items={items} />;
}

function MachineMenu() {
  const { machine, machines } = useStore().head.value;
  return (
    <Choice
      kind="machine"
      name="Machine"
      now={machine}
      hint="for the modelled numbers"
      items={machines.map((m) => ({ id: m.name, label: m.label, note: m.lines.join("\n") }))}
    />
  );
}

interface ChoiceProps {
  kind: "target" | "machine";
  name: string;
  now: string;
  items: Item[];
  hint?: string;
}

function Choice({ kind, name, now, items, hint }: ChoiceProps) {
  const { act, acting } = useStore();
  const label = (
    <>
      {/* The name is drawn where there is room for it, and always there for the ear. */}
      <span class="tvl-soft-text tvl-if-wide">{name} </span>
      {/* "CPU, LLVM: fast to build": what it is, without what it is good for. */}
      {(items.find((item) => item.id === now)?.label ?? now).split(":")[0]}
    </>
  );
  if (!acting.value) return <span class="tvl-fact">{label}</span>;
  return (
    <Menu
      name={name}
      label={label}
      hint={hint}
      items={items.map((item) => ({ ...item, checked: item.id === now }))}
      onPick={(what) => void act({ kind, what }, "header")}
    />
  );
}

function LegalityBadge() {
  const { sign, text } = useStore().head.value.badge;
  return (
    <Opener of="legality" title="What was checked">
      <SignMark sign={sign} word={text} />
    </Opener>
  );
}

function TimeChip() {
  const { head, history, at, only } = useStore();
  const { steps, start_seconds } = history.value;
  const own = at.value ? (steps[at.value - 1]?.seconds ?? null) : start_seconds;
  const saved = { time: own === null ? "" : seconds(own), spread: "", times_naive: "" };
  const { time, spread, times_naive } = only.value ? saved : head.value;
  return (
    <Opener of="runs" title="Runs" class="tvl-time">
      <b>{time || "not run"}</b>
      {/\d/.test(time) && (
        <span class="tvl-soft-text">
          <span class="tvl-if-wide">{spread} </span>measured
        </span>
      )}
      {times_naive && <span>{times_naive}</span>}
    </Opener>
  );
}
