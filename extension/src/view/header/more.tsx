import { useDo } from "../do";
import { useStore, type Drawer } from "../store";
import { Menu, type Item } from "../ui/menu";
import { remember } from "../ui/remember";

/** Everything done less often. */
export function MoreMenu() {
  const { drawer, letters, uid, width, acting } = useStore();
  const lab = useDo();
  const items: Item[] = [
    ...(width.value === "narrow" && acting.value ? [{ id: "pin", label: "Pin to compare", icon: "pin", keys: "x" } as const] : []),
    { id: "runs", label: "Runs", icon: "run" },
    { id: "compare", label: "Compare", icon: "compare" },
    { id: "copy-all", label: "Copy the whole program", note: "imports and expression too: runs in a new kernel", icon: "copy" },
    { id: "export", label: "Save and export", note: "as a file, or as a page that works offline", icon: "file" },
    { id: "keys", label: "Keys", icon: "keys", keys: "?" },
    {
      id: "letters",
      label: letters.value ? "Turn single letters off" : "Turn single letters on",
      note: letters.value ? "s, v, [ and others act on the lab" : "only Ctrl, Alt, arrows and Enter act now",
      icon: "keys",
    },
    { id: "about", label: "About the numbers", icon: "info" },
  ];
  const pick = (id: string) => {
    if (id === "pin") return void lab.pin();
    if (id === "copy-all") return lab.copyProgram();
    if (id !== "letters") return void (drawer.value = id as Drawer);
    letters.value = !letters.value;
    remember("letters", letters.value ? "on" : "off");
  };
  return <Menu id={`${uid}-more`} name="More" label="More" icon="more" items={items} onPick={pick} end class="tvl-more" />;
}
