// Registers the plugins of the extension; each lives in its own file. Whatever only JupyterLab has is optional, so that
// Notebook 7 gets the rest.
import "./style.css"; // first: the panes bring theirs after it
import { commandsPlugin } from "./commands";
import { completerPlugin } from "./completer";
import { filesPlugin } from "./files";
import { labsPlugin } from "./labs";
import { launcherPlugin } from "./launcher";
import { settingsPlugin } from "./settings";
import { sidebarPlugin } from "./sidebar";
import { typingPlugin } from "./typing";

export default [
  settingsPlugin,
  labsPlugin,
  filesPlugin,
  commandsPlugin,
  launcherPlugin,
  sidebarPlugin,
  completerPlugin,
  typingPlugin,
];
