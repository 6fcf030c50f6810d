// The search field of a pane: "/" goes to it, Enter to the next hit.
interface Props {
  value: string;
  label: string;
  onInput: (text: string) => void;
  onEnter: (back: boolean) => void;
}

export function Search({ value, label, onInput, onEnter }: Props) {
  return (
    <input
      type="search"
      class="tvl-search"
      data-search
      aria-label={label}
      placeholder="search  /"
      value={value}
      onInput={(e) => onInput(e.currentTarget.value)}
      onKeyDown={(e) => {
        if (e.key !== "Enter" || e.ctrlKey || e.metaKey) return;
        e.preventDefault();
        e.stopPropagation();
        onEnter(e.shiftKey);
      }}
    />
  );
}
