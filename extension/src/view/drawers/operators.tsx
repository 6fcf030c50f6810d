import { useState } from "preact/hooks";
import type { Drawer as Catalogue, Workload } from "../payload";
import { useStore } from "../store";
import { Button } from "../ui/button";
import { Refusal } from "../ui/refusal";
import { ParamField } from "../ui/param";

type Values = Map<string, unknown>;

const valuesOf = (workload: Workload | undefined): Values => new Map(workload?.fields.map((f) => [f.name, f.value]));

/** The catalogue: one operator is picked, its sizes can be changed. */
export function Operators({ catalogue }: { catalogue: Catalogue }) {
  const { act, drawer, refused, uid, history } = useStore();
  const { workloads } = catalogue;
  const first = workloads.find((w) => w.name === catalogue.current) ?? workloads[0];
  const [picked, setPicked] = useState(first?.name ?? "");
  const [values, setValues] = useState<Values>(valuesOf(first));
  const workload = workloads.find((w) => w.name === picked);
  const pick = (next: Workload) => {
    setPicked(next.name);
    setValues(valuesOf(next));
    refused.value = null;
  };
  const start = async () => {
    if (await act({ kind: "start", what: picked, values: Object.fromEntries(values) }, "workload")) drawer.value = "";
  };
  return (
    <form
      class="tvl-operators"
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      <fieldset>
        <legend class="tvl-hidden">Operator</legend>
        {workloads.map((w) => (
          <label key={w.name} title={w.text} class={w.name === picked ? "tvl-picked" : ""}>
            <input
              type="radio"
              name={`${uid}-operator`}
              checked={w.name === picked}
              data-first={w.name === picked ? "" : undefined}
              onChange={() => pick(w)}
            />
            <span>
              <b>{w.label}</b>
              <small>{w.text}</small>
            </span>
          </label>
        ))}
      </fieldset>
      {workload && workload.presets.length > 0 && (
        <p class="tvl-row tvl-inset">
          <span class="tvl-soft-text">Sizes</span>
          {workload.presets.map((p) => (
            <Button key={p.name} label={p.name} onClick={() => setValues(new Map([...values, ...Object.entries(p.values)]))} />
          ))}
        </p>
      )}
      {workload && (
        <div class="tvl-fields">
          {workload.fields.map((field) => (
            <ParamField
              key={`${picked} ${field.name}`}
              id={`${uid}-field-${field.name}`}
              param={{ ...field, choices: field.choices.map((value) => ({ value, label: String(value) })) }}
              value={values.get(field.name)}
              onChange={(v) => setValues(new Map(values).set(field.name, v))}
            />
          ))}
        </div>
      )}
      <Refusal at="workload" />
      <p class="tvl-row tvl-inset">
        <button type="submit" class="tvl-button tvl-main">
          Start
        </button>
        {history.value.steps.length > 0 && (
          <span class="tvl-soft-text">
            {picked === catalogue.current ? "The steps that apply are taken again." : "This begins a new history; Undo goes back."}
          </span>
        )}
      </p>
    </form>
  );
}
