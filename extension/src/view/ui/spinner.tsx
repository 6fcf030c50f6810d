export function Spinner({ label = "working" }: { label?: string }) {
  return (
    <span class="tvl-spinner" role="img" aria-label={label}>
      <i />
    </span>
  );
}
