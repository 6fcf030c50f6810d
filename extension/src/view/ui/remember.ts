// Small preferences of this person on this page. Storage may be full, forbidden or broken: then nothing is remembered.

const key = (name: string) => `tvmlab:${name}`;

export function recall(name: string): string | null {
  try {
    return localStorage.getItem(key(name));
  } catch {
    return null;
  }
}

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(key(name), value);
  } catch {
    // nothing to do
  }
}
