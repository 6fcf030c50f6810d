// A lab that was saved as a file opens read-only; in other places where outputs are shown, so do still copies.
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { MimeDocumentFactory } from "@jupyterlab/docregistry";
import { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import { labIcon } from "./icon";
import { FILE, MIME } from "./names";
import { factory } from "./output";

const TYPE = "tvlab";

export const filesPlugin: JupyterFrontEndPlugin<void> = {
  id: "tvmlab:files",
  description: "Shows saved labs: files, and outputs outside notebooks.",
  autoStart: true,
  requires: [IRenderMimeRegistry],
  activate: (app: JupyterFrontEnd, rendermime: IRenderMimeRegistry) => {
    rendermime.addFactory(factory(), -20);
    app.docRegistry.addFileType({
      name: TYPE,
      displayName: "Schedule Lab",
      extensions: [FILE],
      mimeTypes: [MIME],
      fileFormat: "text",
      icon: labIcon,
    });
    app.docRegistry.addWidgetFactory(
      new MimeDocumentFactory({
        name: "Schedule Lab",
        dataType: "json",
        modelName: "text",
        rendermime,
        primaryFileType: app.docRegistry.getFileType(TYPE),
        fileTypes: [TYPE],
        defaultFor: [TYPE],
        readOnly: true,
      }),
    );
  },
};
