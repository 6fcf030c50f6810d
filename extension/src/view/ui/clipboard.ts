// Copying and saving, where the host lets us: the clipboard needs a secure page, and notebooks are served over plain http too.

/** True when the text is on the clipboard. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const had = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.setAttribute("readonly", "");
  area.style.cssText = "position:fixed;top:0;left:-9999px";
  document.body.append(area);
  area.focus({ preventScroll: true });
  area.select();
  const done = document.execCommand?.("copy") ?? false;
  area.remove();
  if (had instanceof HTMLElement) had.focus({ preventScroll: true });
  return done;
}

export function download(name: string, data: string | Blob, type = "text/plain"): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([data], { type }));
  link.download = name.replace(/[^\p{L}\p{N}._ -]+/gu, "_").slice(0, 100) || "lab";
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
