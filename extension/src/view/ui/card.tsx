// Why something is not so, and what may be done instead: shown where it was asked for.
import { useEffect } from "preact/hooks";
import type { Act, Card, Move } from "../payload";
import { useStore } from "../store";
import { Button } from "./button";

interface Props {
  card: Card;
  /** One click on an alternative. Without it, alternatives are words. */
  onMove?: (move: Move) => void;
  /** Loops that the card speaks of. */
  onShow?: (ids: string[]) => void;
  onClose?: () => void;
  id?: string;
}

export function CardView({ card, onMove, onShow, onClose, id }: Props) {
  // The first line is words; the loops concerned follow, one a line: under what can be done, which wants to be seen.
  const [said, ...loops] = card.text.split("\n");
  const moves = card.moves.slice(0, 3);
  const { instead } = useStore();
  const point = (act: Act | null) => () => (instead.value = act);
  useEffect(() => point(null), []);
  return (
    <div class="tvl-card" id={id}>
      {(card.title || onClose) && (
        <div class="tvl-card-head">
          {card.title && <b>{card.title}</b>}
          {onClose && <Button label="Close" icon="close" bare kind="quiet" onClick={onClose} />}
        </div>
      )}
      {said && <p class="tvl-pre">{said}</p>}
      {card.clash && <p class="tvl-pre tvl-soft-text">{card.clash}</p>}
      {moves.length > 0 && (
        <div class="tvl-moves">
          <span>You can instead:</span>
          {moves.map((move) =>
            onMove ? (
              <Button
                key={move.text}
                label={`+ ${move.text}`}
                onClick={() => onMove(move)}
                attrs={{
                  onPointerMove: point(move.act),
                  onPointerLeave: point(null),
                  onFocus: point(move.act),
                  onBlur: point(null),
                }}
              />
            ) : (
              <code key={move.text}>{move.text}</code>
            ),
          )}
        </div>
      )}
      {loops.length > 0 && <pre class="tvl-card-loops" tabIndex={0}>{loops.join("\n")}</pre>}
      {card.where.length > 0 && onShow && (
        <p>
          <button type="button" class="tvl-link" onClick={() => onShow(card.where)}>
            Show {card.where.join(", ")}
          </button>
        </p>
      )}
      {moves.length === 0 && card.legal.length > 0 && (
        <p>
          Possible here: <code>{card.legal.slice(0, 12).join(", ")}</code>
        </p>
      )}
      {card.hint && <p class="tvl-soft-text tvl-pre">{card.hint}</p>}
      {card.code && <p class="tvl-code-of">{card.code}</p>}
    </div>
  );
}
