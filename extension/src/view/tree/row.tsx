// One row of the tree, or its ghost.
import type { Row } from "../payload";
import type { Sign } from "../ui/sign";
import type { Fit } from "./fit";
import type { Ghost } from "./ghost";

interface Props {
  ghost: Ghost;
  /** Undefined where nothing is under it. */
  open: boolean | undefined;
  selected: boolean;
  focus: boolean;
  /** May it be dropped here, or is it a place to choose? */
  drop: Sign | undefined;
  over: boolean;
  below: boolean;
  held: boolean;
  /** What is dragged goes onto loops, not between them. */
  onto: boolean;
  live: boolean;
  /** The step that is looked at made it. */
  fresh: boolean;
  fit: Fit | undefined;
}

export function RowView({ ghost, open, selected, focus, drop, over, below, held, onto, live, fresh, fit }: Props) {
  const { row, now, before } = ghost;
  const real = now !== "added";
  const classes = ["tvl-t-row", `tvl-t-${row.kind}`, `tvl-t-now-${now}`];
  if (selected) classes.push("tvl-t-selected");
  if (held) classes.push("tvl-t-held");
  if (fresh) classes.push("tvl-t-fresh");
  if (drop && (now === "kept" || now === "changed")) classes.push(`tvl-t-drop-${NAMES[drop]}`);
  if (over) classes.push("tvl-t-over", onto ? "tvl-t-onto" : below ? "tvl-t-below" : "tvl-t-above");
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
      tabIndex={real ? (focus ? 0 : -1) : undefined}
    >
      {real && (
        <span class="tvl-hidden">
          {row.spoken}
          {fit && `, ${fit.text}`}
        </span>
      )}
      <span class="tvl-t-seen" aria-hidden="true">
        <span class="tvl-t-twisty" data-twisty={open === undefined ? undefined : true}>
          {open === undefined ? "" : open ? "▾" : "▸"}
        </span>
        {live && row.kind !== "input" && (
          <span class="tvl-t-handle" data-handle>
            ⠿
          </span>
        )}
        <span class="tvl-t-name" title={row.id}>
          {now === "added" ? <b>+ </b> : now === "removed" ? <b>− </b> : null}
          {row.name}
          {row.reduce && (
            <span class="tvl-t-sum" title="carries a sum or another reduction">
              Σ
            </span>
          )}
        </span>
        <span class="tvl-t-extent">
          {before && before.extent !== row.extent && <del>{before.extent}</del>}
          <span title={row.tail || undefined}>{row.extent}</span>
          {row.tail && (
            <span class="tvl-t-tail" title={row.tail}>
              tail
            </span>
          )}
          {live && real && row.kind === "loop" && row.n !== null && row.n > 1 && (
            <span class="tvl-t-edge" data-edge title="drag to split" />
          )}
        </span>
        <Chips row={row} before={before} />
        {fit && (
          <span class="tvl-t-fit" style={{ "--part": fit.part }} title={fit.text}>
            <i>{fit.home}</i>
          </span>
        )}
      </span>
    </div>
  );
}

const NAMES = { "+": "yes", x: "no", "?": "perhaps", "=": "same" };

function Chips({ row, before }: { row: Row; before: Row | undefined }) {
  const gone = before ? before.chips.filter((chip) => !row.chips.includes(chip)) : [];
  return (
    <span class="tvl-t-chips">
      {row.chips.map((chip) => (
        <span key={chip} class={`tvl-chip tvl-t-chip${before && !before.chips.includes(chip) ? " tvl-t-new" : ""}`}>
          {chip}
        </span>
      ))}
      {gone.map((chip) => (
        <del key={chip} class="tvl-chip tvl-t-chip">
          {chip}
        </del>
      ))}
    </span>
  );
}
