// The configuration that is being written. It outlives a look at another part of the page.
import { reactive, ref } from "vue";
import { newDraft, type Draft } from "./config";

export const draft = reactive<Draft>(newDraft());
export const prompt = ref("");

export function replaceDraft(by: Draft): void {
  Object.assign(draft, { model: by.model, tools: [...by.tools], numbers: { ...by.numbers } });
}
