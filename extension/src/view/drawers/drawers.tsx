export function Drawers() {
  return null;
}
