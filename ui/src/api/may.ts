// What the key may do, as the server says. Buttons that would be refused are not shown; it is the server that refuses.
import { shallowRef, watch } from "vue";
import { api, data, type Schemas } from "./client";
import { key } from "./key";

export type Scope = Schemas["Scope"];

const scopes = shallowRef<readonly Scope[] | null>(null);

watch(
  key,
  async (secret) => {
    scopes.value = null;
    if (secret === null) return;
    try {
      const own = await data(api.GET("/api/key"));
      if (key() === secret) scopes.value = own.scopes;
    } catch {
      // It is not known then, and the server says it at each button.
    }
  },
  { immediate: true },
);

/** Whether the key may do this, as far as is known. */
export function may(scope: Scope): boolean {
  return scopes.value === null || scopes.value.includes(scope);
}
