// The key to the server. It lies in this browser tab alone, or in this browser where a person wants to stay signed in.
import { shallowRef } from "vue";

const NAME = "mainpath.key";

function stored(): string | null {
  return sessionStorage.getItem(NAME) ?? localStorage.getItem(NAME);
}

const current = shallowRef(stored());

/** The key, or null where nobody is signed in. */
export function key(): string | null {
  return current.value;
}

export function signIn(secret: string, keep: boolean): void {
  signOut();
  (keep ? localStorage : sessionStorage).setItem(NAME, secret);
  current.value = secret;
}

export function signOut(): void {
  sessionStorage.removeItem(NAME);
  localStorage.removeItem(NAME);
  current.value = null;
}

// A second tab that signs out signs this one out as well.
addEventListener("storage", (event) => {
  if (event.key === NAME) current.value = stored();
});
