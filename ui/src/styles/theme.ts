// Dark or light: the chosen one, or the system's.
import { computed, ref, watchEffect } from "vue";

export type Theme = "auto" | "light" | "dark";

const NAME = "mainpath.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = ref(system.matches);
system.addEventListener("change", (event) => (systemIsDark.value = event.matches));

function stored(): Theme {
  const text = localStorage.getItem(NAME);
  return text === "light" || text === "dark" ? text : "auto";
}

export const theme = ref<Theme>(stored());
const isDark = computed(() => theme.value === "dark" || (theme.value === "auto" && systemIsDark.value));

watchEffect(() => {
  localStorage.setItem(NAME, theme.value);
  document.documentElement.dataset["theme"] = isDark.value ? "dark" : "light";
});
