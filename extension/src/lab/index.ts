// Registers the plugins of the extension; each lives in its own file.
import type { JupyterFrontEndPlugin } from "@jupyterlab/application";

const plugin: JupyterFrontEndPlugin<void> = {
  id: "tvmlab:plugin",
  description: "The Schedule Lab of tvmlab.",
  autoStart: true,
  activate: () => {},
};

export default [plugin];
