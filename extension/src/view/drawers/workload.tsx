// What to schedule: an operator with sizes, or an expression typed here.
import "./workload.css";
import { useEffect, useState } from "preact/hooks";
import type { Drawer as Catalogue } from "../payload";
import { useStore } from "../store";
import { Spinner } from "../ui/spinner";
import { tabPanel, Tabs } from "../ui/tabs";
import { Drawer } from "./drawer";
import { Operators } from "./operators";
import { Expression } from "./expression";

const WAYS = [
  { id: "operator", label: "Operators" },
  { id: "expression", label: "Type an expression" },
];

export function WorkloadDrawer() {
  const { acting } = useStore();
  return acting.value ? <Choose /> : <WhatItIs />;
}

function WhatItIs() {
  const { head } = useStore();
  return (
    <Drawer title="What is scheduled">
      <p class="tvl-lead">
        <b>{head.value.title}</b>
      </p>
      {head.value.expression.map((line) => (
        <p key={line} class="tvl-equation">
          <code>{line}</code>
        </p>
      ))}
    </Drawer>
  );
}

function Choose() {
  const { ask, uid, head } = useStore();
  const [catalogue, setCatalogue] = useState<Catalogue | null>(null);
  const [way, setWay] = useState("operator");
  useEffect(() => {
    let here = true;
    void ask({ kind: "drawer" }).then((reply) => here && setCatalogue(reply.data as Catalogue | null));
    return () => void (here = false);
  }, []);
  const name = `${uid}-way`;
  return (
    <Drawer title="What to schedule">
      <Tabs label="How to say it" name={name} tabs={WAYS} current={way} onPick={setWay} />
      <div role="tabpanel" id={tabPanel(name)} aria-label={way}>
        {head.value.expression.length > 0 && (
          <div class="tvl-now">
            <span class="tvl-soft-text">Now</span>
            {head.value.expression.map((line) => (
              <code key={line}>{line}</code>
            ))}
          </div>
        )}
        {!catalogue && (
          <p class="tvl-lead">
            <Spinner label="loading" />
          </p>
        )}
        {catalogue && way === "operator" && <Operators catalogue={catalogue} />}
        {catalogue && way === "expression" && <Expression example={catalogue.example} />}
      </div>
    </Drawer>
  );
}
