// One row of the tree, or its ghost.
import type { Row } from "../payload";
import type { Drop } from "./drag";
import type { Ghost } from "./ghost";

interface Props {
  ghost: Ghost;
  /** Undefined where nothing is under it. */
  open: boolean | undefined;
  selected: boolean;
  focus: boolean;
  drop: Drop | undefined;
  over: boolean;
  below: boolean;
  held: boolean;
  /** What is dragged goes onto loops, not between them. */
  onto: boolean;
  live: boolean;
  /** The step that is looked at made it. */
  fresh: boolean;
}

export function RowView({ ghost, open, selected, focus, drop, over, below, held, onto, live, fresh }: Props) {
  const { row, now, before } = ghost;
  const real = now !== "added";
  const classes = ["tv-row", `tv-${row.kind}`, `tv-now-${now}`];
  if (selected) classes.push("tv-selected");
  if (held) classes.push("tv-held");
  if (fresh) classes.push("tv-fresh");
  if (drop) classes.push(`tv-drop-${NAMES[drop.sign]}`);
  if (over) classes.push("tv-over", onto ? "tv-onto" : below ? "tv-below" : "tv-above");
  return (
    <div
      class={classes.join(" ")}
      style={{ "--level": row.level }}
      data-id={real ? row.id : undefined}
      role={real ? "treeitem" : "presentation"}
      aria-hidden={real ? undefined : true}
      aria-level={real ? row.level + 1 : undefined}
      aria-expanded={real ? open : undefined}
      aria-selected={real ? selected : undefined}
      aria-label={real ? row.spoken : undefined}
      tabIndex={real ? (focus ? 0 : -1) : undefined}
    >
      <span class="tv-twisty" data-twisty={open === undefined ? undefined : true} aria-hidden="true">
        {open === undefined ? "" : open ? "▾" : "▸"}
      </span>
      {live && row.kind !== "input" && <span class="tv-handle" data-handle aria-hidden="true">⠿</span>}
      <span class="tv-name" title={row.id}>
        {now === "added" ? <b aria-hidden="true">+ </b> : now === "removed" ? <b aria-hidden="true">− </b> : null}
        {row.name}
        {row.reduce && <span class="tv-sum" title="carries a sum or another reduction">Σ</span>}
      </span>
      <span class="tv-extent">
        {before && before.extent !== row.extent && <del>{before.extent}</del>}
        <span title={row.tail || undefined}>{row.extent}</span>
        {row.tail && <span class="tv-tail" title={row.tail}>tail</span>}
        {live && real && row.kind === "loop" && row.n !== null && row.n > 1 && (
          <span class="tv-edge" data-edge title="drag to split" aria-hidden="true" />
        )}
      </span>
      <Chips row={row} before={before} />
    </div>
  );
}

const NAMES = { "+": "yes", x: "no", "?": "perhaps", "=": "same" };

function Chips({ row, before }: { row: Row; before: Row | undefined }) {
  const gone = before ? before.chips.filter((chip) => !row.chips.includes(chip)) : [];
  return (
    <span class="tv-chips">
      {row.chips.map((chip) => (
        <span key={chip} class={`tv-chip${before && !before.chips.includes(chip) ? " tv-new" : ""}`}>
          {chip}
        </span>
      ))}
      {gone.map((chip) => (
        <del key={chip} class="tv-chip">
          {chip}
        </del>
      ))}
    </span>
  );
}
