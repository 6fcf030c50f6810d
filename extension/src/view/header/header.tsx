// What is scheduled, for what, whether it is legal, how fast it was, and the things done most.
import "./header.css";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useDo } from "../do";
import { useRoving } from "../focus";
import { useStore, type Drawer } from "../store";
import { Button } from "../ui/button";
import { Icon } from "../ui/icon";
import { Menu } from "../ui/menu";
import { SignMark } from "../ui/sign";
import { Banner } from "./banner";
import { MoreMenu } from "./more";
import { RunButton } from "./run";

export function Header() {
  const { width } = useStore();
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
      <CopyButton label="Copy" />
    </div>
  );
}

function Doing() {
  const { acting, at, history, width } = useStore();
  const lab = useDo();
  if (!acting.value) return null;
  const bare = width.value === "narrow";
  const last = at.value >= history.value.steps.length;
  return (
    <div class="tvl-header-do">
      <span class="tvl-joined">
        <Button label="Undo" icon="undo" bare={bare} onClick={lab.undo} off={at.value === 0 && "There is nothing to undo"} hint="Ctrl+Z" />
        <Button label="Redo" icon="redo" bare={bare} onClick={lab.redo} off={last && "There is nothing to redo"} hint="Ctrl+Shift+Z" />
      </span>
      {!bare && <Button label="Pin" icon="pin" onClick={lab.pin} hint="to compare with (x)" />}
      <RunButton />
    </div>
  );
}

const Taking = () => (
  <div class="tvl-header-do">
    <CopyButton label="Copy code" />
    <MoreMenu />
  </div>
);

function CopyButton({ label }: { label: string }) {
  const lab = useDo();
  return <Button label={label} icon="copy" onClick={lab.copyCode} hint="y" />;
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
  const { head, act, acting } = useStore();
  const { target, targets } = head.value;
  const label = targets.find((t) => t.name === target)?.label ?? target;
  if (!acting.value) return <Fact name="Target" value={label} />;
  return (
    <Menu
      name="Target"
      label={<Labelled name="Target" value={label} />}
      items={targets.map((t) => ({
        id: t.name,
        label: t.label,
        note: t.available ? t.why : "",
        off: t.available ? undefined : t.why || "not available here",
        checked: t.name === target,
      }))}
      onPick={(what) => void act({ kind: "target", what }, "header")}
    />
  );
}

function MachineMenu() {
  const { head, act, acting } = useStore();
  const { machine, machines } = head.value;
  const now = machines.find((m) => m.name === machine);
  if (!acting.value) return <Fact name="Machine" value={now?.label ?? machine} />;
  return (
    <Menu
      name="Machine"
      label={<Labelled name="Machine" value={now?.label ?? machine} />}
      hint="for the modelled numbers"
      items={machines.map((m) => ({ id: m.name, label: m.label, note: m.lines.join("\n"), checked: m.name === machine }))}
      onPick={(what) => void act({ kind: "machine", what }, "header")}
    />
  );
}

/** The name is drawn where there is room for it, and always there for the ear. */
const Labelled = ({ name, value }: { name: string; value: string }) => (
  <>
    <span class="tvl-soft-text tvl-if-wide">{name} </span>
    {value}
  </>
);

const Fact = ({ name, value }: { name: string; value: string }) => (
  <span class="tvl-fact">
    <Labelled name={name} value={value} />
  </span>
);

function LegalityBadge() {
  const { sign, text } = useStore().head.value.badge;
  return (
    <Opener of="legality" title="What was checked">
      <SignMark sign={sign} word={text} />
    </Opener>
  );
}

function TimeChip() {
  const { time, spread, times_naive } = useStore().head.value;
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
