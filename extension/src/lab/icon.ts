import { LabIcon } from "@jupyterlab/ui-components";

/** Three loops, one inside the other, the innermost filled: a schedule. */
export const labIcon = new LabIcon({
  name: "tvmlab:lab",
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="16">
    <g class="jp-icon3" fill="#616161">
      <path d="M3 3h18v2H3zM3 5h2v14H3zM3 19h18v2H3z"/>
      <path d="M8 8h13v2H8zM8 10h2v4H8zM8 14h13v2H8z"/>
    </g>
    <path class="jp-icon-brand0 jp-icon-accent0" fill="#1976d2" d="M12 11h9v2h-9z"/>
  </svg>`,
});
