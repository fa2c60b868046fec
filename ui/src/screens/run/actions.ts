// What can be done at a place of the conversation; the screen has one dialog for each of them.
import { inject, provide, ref, type InjectionKey, type Ref } from "vue";

export type Action =
  | { kind: "rewind" | "again" | "fork"; trace: string; seq: number }
  | { kind: "request"; trace: string; request: number };

const ACTION: InjectionKey<Ref<Action | null>> = Symbol("action");

export function provideAction(): Ref<Action | null> {
  const action = ref<Action | null>(null);
  provide(ACTION, action);
  return action;
}

export function useAction(): Ref<Action | null> {
  const action = inject(ACTION);
  if (action === undefined) throw new Error("a part of the run screen stands outside of it");
  return action;
}
