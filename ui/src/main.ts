import { createApp } from "vue";
import { exchange } from "./api/client";
import { signIn } from "./api/key";
import App from "./App.vue";
import { router } from "./router";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/theme";
import "./styles/variables.css";
import { i18n } from "./texts";

/** The code that `mainpath ui` has put into the address; it is taken out before anything else happens. */
function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code !== null) history.replaceState(history.state, "", location.pathname + location.search);
  return code;
}

async function start(): Promise<void> {
  const code = takeCode();
  let isRefused = false;
  if (code !== null) {
    try {
      signIn(await exchange(code), false);
    } catch {
      isRefused = true;
    }
  }
  createApp(App).use(i18n).use(router).mount("#app");
  if (isRefused) await router.replace({ name: "sign-in", query: { refused: "code" } });
}

void start();
