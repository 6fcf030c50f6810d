// Taking the lab elsewhere: as code, as a file that `load` reads, as a page that works offline.
import { useDo } from "../do";
import { useStore } from "../store";
import { Button } from "../ui/button";
import { download } from "../ui/clipboard";
import { Refusal } from "../ui/refusal";
import { Drawer } from "./drawer";

export function ExportDrawer() {
  const { head, host, acting, ask, said, refused } = useStore();
  const lab = useDo();
  const { calls, program, name } = head.value;
  const save = async (what: "json" | "html") => {
    const reply = host.document && what === "json" ? { ok: true, data: host.document, card: null } : await ask({ kind: "document", what });
    if (!reply.ok) return void (refused.value = reply.card && { where: "export", card: reply.card });
    const text = typeof reply.data === "string" ? reply.data : JSON.stringify(reply.data);
    const file = what === "json" ? `${name || "lab"}.tvlab.json` : `${name || "lab"}.html`;
    download(file, text, what === "json" ? "application/json" : "text/html");
    said.value = `Saved ${file}.`;
  };
  const asJson = acting.value || !!host.document;
  return (
    <Drawer title="Save and export">
      <p class="tvl-row tvl-inset">
        {asJson && <Button label="Save as a file" onClick={() => void save("json")} />}
        {acting.value && (
          <Button label="Export as a page" onClick={() => void save("html")} />
        )}
      </p>
      <Refusal at="export" />
      <Text title="The steps" text={calls || "# no steps yet"} onCopy={lab.copyCode} />
      <Text title="The whole program" text={program} onCopy={lab.copyProgram} />
    </Drawer>
  );
}

function Text({ title, text, onCopy }: { title: string; text: string; onCopy: () => void }) {
  return (
    <section class="tvl-export">
      <div class="tvl-row">
        <h3>{title}</h3>
        <Button label="Copy" icon="copy" hint={`Copy: ${title}`} onClick={onCopy} off={useStore().only.value} />
      </div>
      <pre tabIndex={0} aria-label={title}>
        {text}
      </pre>
    </section>
  );
}
