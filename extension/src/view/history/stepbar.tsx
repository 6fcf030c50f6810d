// What can be changed of the step that is looked at. Enter takes it and the later ones again.
//
// Once it is done the focus is on the film strip: in a field, Ctrl+Z would be about the field's text.
import { useEffect, useRef, useState } from "preact/hooks";
import { enter } from "../focus";
import { useEscape } from "../keys";
import type { Ask } from "../host";
import type { StepInfo } from "../payload";
import { moveStep } from "../do";
import { useStore } from "../store";
import { Button } from "../ui/button";
import { ParamField } from "../ui/param";

/** `asked`: whenever this grows, the first field gets the focus. */
export function StepBar({ asked, onClose }: { asked: number; onClose: () => void }) {
  const { history, at, width } = useStore();
  const step = history.value.steps[at.value - 1];
  useEscape(width.value !== "narrow", onClose);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const field = asked ? box.current?.querySelector<HTMLElement>("input, select") : null;
    field?.focus({ preventScroll: true });
    if (field instanceof HTMLInputElement) field.select();
  }, [asked]);
  return (
    <div ref={box}>
      {step ? (
        <Editor key={step.id} step={step} at={at.value} />
      ) : (
        <p class="tvl-stepbar tvl-soft-text">Choose a step to change it.</p>
      )}
    </div>
  );
}

function Editor({ step, at }: { step: StepInfo; at: number }) {
  const store = useStore();
  const { act, history, uid, drawer, refused } = store;
  const [changed, setChanged] = useState<ReadonlyMap<string, unknown>>(new Map());
  const box = useRef<HTMLFormElement>(null);
  const { steps } = history.value;
  const later = steps.length - at;
  const tell = (request: Ask) => act({ ...request, step: step.id }, "history");
  const then = async (done: Promise<boolean>) => {
    const pane = box.current!.closest<HTMLElement>("[data-pane]")!;
    if (!(await done)) return;
    setChanged(new Map());
    enter(pane);
  };
  const tunable = async () => {
    drawer.value = "tune";
    let open = false;
    await store.jump(steps.length); // what is tuned is the schedule, not its beginning
    // Its values; where it has none that can be tuned, what else there is of it: whether it is taken at all.
    for (const { name } of [...step.params, { name: "" }])
      if (name || !open) open = (await act({ kind: "tune", what: "open", values: { step: step.id, param: name } }, "tune")) || open;
    if (open) refused.value = null;
  };
  return (
    <form
      class="tvl-stepbar"
      aria-label={`Step ${at}`}
      ref={box}
      onSubmit={(event) => {
        event.preventDefault();
        if (changed.size) void then(tell({ kind: "edit", values: Object.fromEntries(changed) }));
      }}
    >
      <div class="tvl-row tvl-grow">
        <code title={step.origin.label}>{step.code}</code>
        {step.params.map((param) => (
          <ParamField
            key={param.name}
            id={`${uid}-edit-${param.name}`}
            param={param}
            value={changed.has(param.name) ? changed.get(param.name) : param.value}
            onChange={(value) => setChanged(new Map(changed).set(param.name, value))}
          />
        ))}
        {step.params.length > 0 && (
          <button type="submit" class="tvl-button tvl-main" aria-disabled={!changed.size}>
            {later ? "Change and replay the rest" : "Change"}
          </button>
        )}
        <Button label="Make tunable" onClick={() => void tunable()} />
        {step.status === "parked" && <Button label="Try again" onClick={() => void tell({ kind: "retry" })} />}
      </div>
      <div class="tvl-row">
        <Said label="Name" value={step.name} empty={step.label} onSet={(text) => void tell({ kind: "rename", text })} />
        <Said label="Note" value={step.note} empty="" onSet={(text) => void tell({ kind: "note", text })} />
        <span class="tvl-joined">
          <Button label="Earlier" icon="left" hint="Alt+Left" off={at === 1 && "the first step"} onClick={() => void then(moveStep(store, -1))} />
          <Button label="Later" icon="right" hint="Alt+Right" off={at === steps.length && "the last step"} onClick={() => void then(moveStep(store, 1))} />
        </span>
        <Button label="Branch here" icon="branch" onClick={() => void tell({ kind: "branch" })} />
        <Button label="Delete" kind="danger" onClick={() => void then(tell({ kind: "delete" }))} />
      </div>
      {step.reason && (
        <p class={step.status === "parked" ? "tvl-tone-unknown" : "tvl-soft-text"}>
          {step.status === "parked" ? "Parked: " : "No effect: "}
          {step.reason}
        </p>
      )}
    </form>
  );
}

interface SaidProps {
  label: string;
  value: string;
  empty: string;
  onSet: (text: string) => void;
}

/** Text that is sent when it is left or confirmed. */
const Said = ({ label, value, empty, onSet }: SaidProps) => (
  <label class="tvl-field">
    <span>{label}</span>
    <input
      key={value}
      type="text"
      defaultValue={value}
      placeholder={empty}
      onChange={(e) => onSet(e.currentTarget.value)}
      onKeyDown={(e) => {
        if (e.key !== "Enter" || e.shiftKey) return;
        e.preventDefault(); // not the parameters
        enter(e.currentTarget.closest("[data-pane]")!);
      }}
    />
  </label>
);
