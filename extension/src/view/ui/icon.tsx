// Small line pictures beside words, never instead of them.

const PATHS = {
  undo: "M6 4 2.5 7.5 6 11M3 7.5h6.5a3.5 3.5 0 0 1 0 7H8",
  redo: "M10 4l3.5 3.5L10 11M13 7.5H6.5a3.5 3.5 0 0 0 0 7H8",
  run: "M4.5 3v10l8-5z",
  stop: "M4 4h8v8H4z",
  pin: "M6 2h4l-.5 5 2.5 2.5H4L6.5 7zM8 9.5V14",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  left: "M10 4 6 8l4 4",
  up: "M4 10l4-4 4 4",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5 6.5 12 13 4.5",
  branch: "M4.5 5v6M4.5 3v.01M4.5 13v.01M11.5 4v.01M11.5 5c0 3-7 2.5-7 5",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="tvl-icon" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} fill={name === "run" || name === "stop" ? "currentColor" : "none"} />
    </svg>
  );
}
