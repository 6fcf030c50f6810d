// The panel on the left: the labs in the kernel of the notebook in front, and their runs.
import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from "@jupyterlab/application";
import { Widget } from "@lumino/widgets";
import { render } from "preact";
import type { Run } from "../view/payload";
import { showCell } from "./acts";
import { labIcon } from "./icon";
import { ILabs, type Found } from "./labs";
import { commands } from "./names";
import { duration } from "./words";

type Execute = (command: string, args?: Record<string, string>) => void;

const WORDS = { "+": "legal", x: "not legal", "?": "unknown", "=": "no effect" } as const;

function Sidebar({ labs, execute }: { labs: ILabs; execute: Execute }) {
  const line = labs.line;
  if (!line) {
    return <Empty text="Labs of a notebook are listed here." button="New notebook with a lab" act={commands.newNotebook} execute={execute} />;
  }
  if (!line.labs.length) {
    const text = "A lab shows a schedule as loops to point at; this notebook has none that is running.";
    return <Empty text={text} button="Insert example cell" act={commands.example} execute={execute} />;
  }
  const chosen = labs.current?.lab;
  return (
    <>
      <h2>Labs in this kernel</h2>
      <ul>
        {line.labs.map((lab) => (
          <Row key={lab.id} found={{ line, lab }} chosen={lab.id === chosen?.id} labs={labs} execute={execute} />
        ))}
      </ul>
      <h2>Runs of {chosen?.name}</h2>
      {chosen?.runs.length ? <Runs runs={chosen.runs} /> : <p>Nothing was run yet.</p>}
    </>
  );
}

function Empty(props: { text: string; button: string; act: string; execute: Execute }) {
  return (
    <>
      <h2>Schedule Lab</h2>
      <p>{props.text}</p>
      <button class="jp-mod-styled jp-mod-accept" onClick={() => props.execute(props.act)}>
        {props.button}
      </button>
    </>
  );
}

function Row({ found, chosen, labs, execute }: { found: Found; chosen: boolean; labs: ILabs; execute: Execute }) {
  const { lab, line } = found;
  const where = { path: line.panel.context.path, model: lab.model_id, name: lab.name };
  const show = () => {
    labs.choose(lab);
    if (!showCell(found) && lab.model_id) execute(commands.open, where);
  };
  return (
    <li class="tvx-lab" aria-current={chosen || undefined}>
      <button class="tvx-show" onClick={show} title="Show its cell">
        <strong>{lab.name}</strong>
        <span>{lab.title}</span>
        <span>
          step {lab.step} of {lab.steps} · <b class="tvx-sign">{lab.badge.sign}</b> {lab.badge.text || WORDS[lab.badge.sign]}
          {" · "}
          {lab.time}
        </span>
      </button>
      {lab.model_id && (
        <button class="tvx-open" onClick={() => execute(commands.open, where)} title="Open in a tab" aria-label={`Open ${lab.name} in a tab`}>
          ↗
        </button>
      )}
    </li>
  );
}

function Runs({ runs }: { runs: Run[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th>at</th>
          <th>step</th>
          <th>time</th>
          <th>check</th>
        </tr>
      </thead>
      <tbody>
        {[...runs].reverse().map((run) => (
          <tr key={run.id}>
            <td>{run.when}</td>
            <td>{run.title}</td>
            <td>{run.seconds === null ? run.state : duration(run.seconds)}</td>
            <td>{run.check}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

class SidebarWidget extends Widget {
  constructor(private readonly labs: ILabs, private readonly execute: Execute) {
    super();
    this.id = "tvmlab-labs";
    this.addClass("tvx-sidebar");
    this.title.icon = labIcon;
    this.title.caption = "Schedule labs in this kernel";
    this.node.setAttribute("role", "region");
    this.node.setAttribute("aria-label", "Schedule labs in this kernel");
    labs.changed.connect(() => this.isVisible && this.draw());
  }

  protected override onBeforeShow(): void {
    this.draw();
  }

  protected override onAfterAttach(): void {
    this.draw();
  }

  private draw(): void {
    render(<Sidebar labs={this.labs} execute={this.execute} />, this.node);
  }

  override dispose(): void {
    if (this.isDisposed) return;
    render(null, this.node);
    super.dispose();
  }
}

export const sidebarPlugin: JupyterFrontEndPlugin<void> = {
  id: "tvmlab:sidebar",
  description: "Lists the labs in this kernel and their runs.",
  autoStart: true,
  requires: [ILabs],
  optional: [ILayoutRestorer],
  activate: (app: JupyterFrontEnd, labs: ILabs, restorer: ILayoutRestorer | null) => {
    const execute: Execute = (command, args) => void app.commands.execute(command, args);
    const widget = new SidebarWidget(labs, execute);
    app.shell.add(widget, "left", { rank: 600 });
    restorer?.add(widget, widget.id);
  },
};
