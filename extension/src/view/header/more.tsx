import { useDo } from "../do";
import { useStore, type Drawer } from "../store";
import { Menu, type Item } from "../ui/menu";

/** Everything done less often. */
export function MoreMenu() {
  const { drawer, uid, width, acting, only } = useStore();
  const lab = useDo();
  const items: Item[] = [
    ...(width.value === "narrow" && acting.value ? [{ id: "pin", label: "Pin to compare", keys: "x" } as const] : []),
    { id: "runs", label: "Runs" },
    { id: "compare", label: "Compare" },
    ...(acting.value ? [{ id: "tune", label: "Tune", keys: "T" }] : []),
    { id: "copy-all", label: "Copy the whole program", note: "imports and expression too", off: only.value },
    { id: "export", label: "Save and export", note: "as a file, or as a page that works offline" },
    { id: "keys", label: "Keys", keys: "?" },
    { id: "about", label: "About the numbers" },
  ];
  const pick = (id: string) => {
    if (id === "pin") return void lab.pin();
    if (id === "copy-all") return lab.copyProgram();
    drawer.value = id as Drawer;
  };
  return <Menu id={`${uid}-more`} name="More" label="More" icon="more" items={items} onPick={pick} end class="tvl-more" />;
}
