// The language of the page: the chosen one, or the first of the browser's that there is.
import { createI18n } from "vue-i18n";
import en, { type Texts } from "./en";
import zh from "./zh";

declare module "vue-i18n" {
  export interface DefineLocaleMessage extends Texts {}
}

export const languages = { en: "English", zh: "中文" } as const;
export type Language = keyof typeof languages;

const NAME = "mainpath.language";

function isLanguage(text: string | null | undefined): text is Language {
  return text === "en" || text === "zh";
}

function first(): Language {
  const chosen = localStorage.getItem(NAME);
  if (isLanguage(chosen)) return chosen;
  return navigator.languages.map((tag) => tag.split("-")[0]).find(isLanguage) ?? "en";
}

export const i18n = createI18n({ legacy: false, locale: first(), fallbackLocale: "en", messages: { en, zh } });

export function setLanguage(language: Language): void {
  localStorage.setItem(NAME, language);
  i18n.global.locale.value = language;
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
}

document.documentElement.lang = i18n.global.locale.value === "zh" ? "zh-CN" : "en";
