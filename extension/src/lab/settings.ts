// What a person may set; schema/plugin.json says it in words.
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ISettingRegistry } from "@jupyterlab/settingregistry";
import { Token } from "@lumino/coreutils";
import { Signal } from "@lumino/signaling";
import { exampleCell } from "./words";

const ID = "tvmlab:plugin";

interface Values {
  defaultTarget: string;
  machineModel: string;
  openIn: "cell" | "tab";
  defaultLayout: "auto" | "medium" | "narrow";
  singleKeyShortcuts: boolean;
  animation: "auto" | "off";
  palette: "default" | "high contrast";
  staticCompanion: "auto" | "never";
  runBudget: { seconds: number; rounds: number };
  allowUnknown: "ask" | "never";
}

const USUAL: Values = {
  defaultTarget: "",
  machineModel: "",
  openIn: "cell",
  defaultLayout: "auto",
  singleKeyShortcuts: true,
  animation: "auto",
  palette: "default",
  staticCompanion: "auto",
  runBudget: { seconds: 60, rounds: 30 },
  allowUnknown: "ask",
};

export class LabSettings {
  readonly changed = new Signal<this, void>(this);
  values: Values = USUAL;
  loaded = false; // until then the values are nobody's, and no kernel is told them

  take(composite: Partial<Values>): void {
    this.values = { ...USUAL, ...composite, runBudget: { ...USUAL.runBudget, ...composite.runBudget } };
    const { defaultLayout: tvlLayout, animation: tvlMotion, palette: tvlPalette, staticCompanion: tvlCopy } = this.values;
    Object.assign(document.body.dataset, { tvlLayout, tvlMotion, tvlPalette, tvlCopy }); // style.css has the rest
    this.loaded = true;
    this.changed.emit();
  }

  /** The cell that opens a lab, with the person's target and machine. */
  get example(): string {
    return exampleCell(this.values.defaultTarget, this.values.machineModel);
  }
}

export const ILabSettings = new Token<LabSettings>("tvmlab:ILabSettings", "The settings of the Schedule Lab.");

/** Single letters do nothing in a lab, for speech input and other hands that press keys by accident. */
function muteLetters(settings: LabSettings): void {
  const mute = (event: KeyboardEvent) => {
    const target = event.target as Element | null;
    const letter = event.key.length === 1 && event.key !== " " && !(event.ctrlKey || event.metaKey || event.altKey);
    if (settings.values.singleKeyShortcuts || !letter || !target?.closest(".tvl")) return;
    if (!target.closest("input, textarea, select, [contenteditable]")) event.stopPropagation();
  };
  document.addEventListener("keydown", mute, true);
}

export const settingsPlugin: JupyterFrontEndPlugin<LabSettings> = {
  id: ID,
  description: "The settings of the Schedule Lab.",
  autoStart: true,
  optional: [ISettingRegistry],
  provides: ILabSettings,
  activate: (_app: JupyterFrontEnd, registry: ISettingRegistry | null) => {
    const settings = new LabSettings();
    muteLetters(settings);
    void registry?.load(ID).then((loaded) => {
      const take = () => settings.take(loaded.composite as Partial<Values>);
      loaded.changed.connect(take);
      take();
    });
    return settings;
  },
};
