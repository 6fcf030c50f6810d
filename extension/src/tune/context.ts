import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Session } from "./session";

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("used outside of tuning");
  return session;
}
