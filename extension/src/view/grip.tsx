// The lower edge: drag it, or use the arrows on it, to make the lab higher or lower.
import { LEAST_HEIGHT, setHeight } from "./layout";

const STEP = 40;

export function Grip({ root }: { root: HTMLElement }) {
  const drag = (event: PointerEvent) => {
    const grip = event.currentTarget as HTMLElement;
    const from = event.clientY;
    const height = root.offsetHeight;
    grip.setPointerCapture(event.pointerId);
    const move = (e: PointerEvent) => setHeight(root, height + e.clientY - from);
    const done = () => {
      grip.removeEventListener("pointermove", move);
      grip.removeEventListener("lostpointercapture", done);
    };
    grip.addEventListener("pointermove", move);
    grip.addEventListener("lostpointercapture", done);
  };
  const key = (event: KeyboardEvent) => {
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    event.preventDefault();
    setHeight(root, root.offsetHeight + (event.key === "ArrowDown" ? STEP : -STEP));
  };
  return (
    <div
      class="tvl-grip"
      role="separator"
      aria-orientation="horizontal"
      aria-label="Height of the lab"
      aria-valuenow={root.offsetHeight || LEAST_HEIGHT}
      aria-valuemin={LEAST_HEIGHT}
      tabIndex={0}
      title="Drag, or press the arrows"
      onPointerDown={drag}
      onKeyDown={key}
    />
  );
}
