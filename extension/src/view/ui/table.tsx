// The text twin of a picture, or any small table. A row with an id selects when it is clicked.
import type { Table } from "../payload";

export function DataTable({ table, onPick }: { table: Table; onPick?: (id: string) => void }) {
  const numbers = table.head.map((_, c) => c > 0 && table.rows.some((row) => isNumber(row[c] ?? "")));
  return (
    <div class="tvl-scroll">
      <table class="tvl-table">
        <caption>{table.title}</caption>
        <thead>
          <tr>
            {table.head.map((name, i) => (
              <th key={i} scope="col" class={numbers[i] ? "tvl-number" : ""}>
                {name || <span class="tvl-hidden">what</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, r) => (
            <tr key={r}>
              {row.map((cell, c) => {
                const id = table.ids?.[r];
                return (
                  <td key={c} class={numbers[c] ? "tvl-number" : ""}>
                    {c === 0 && id && onPick ? (
                      <button type="button" class="tvl-link" onClick={() => onPick(id)}>
                        {cell}
                      </button>
                    ) : (
                      cell
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const isNumber = (text: string) => /^[-+±~<>]?\s?[\d.,]+/.test(text);
