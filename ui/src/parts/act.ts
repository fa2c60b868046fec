// An action of a person: whether it is under way, and the problem of the last one.
import { ref, shallowRef, type Ref, type ShallowRef } from "vue";
import { asProblem, type ApiProblem } from "../api/problem";

export interface Acting {
  readonly isBusy: Ref<boolean>;
  readonly problem: ShallowRef<ApiProblem | undefined>;
  /** Does it; false where it was refused. */
  act(what: () => Promise<unknown>): Promise<boolean>;
}

export function useAct(): Acting {
  const isBusy = ref(false);
  const problem = shallowRef<ApiProblem>();
  return {
    isBusy,
    problem,
    async act(what) {
      isBusy.value = true;
      problem.value = undefined;
      try {
        await what();
        return true;
      } catch (thrown) {
        problem.value = asProblem(thrown);
        return false;
      } finally {
        isBusy.value = false;
      }
    },
  };
}
