// A part of the pages that was asked for and could not be loaded, as while the server is away.
import { shallowRef } from "vue";
import { ApiProblem } from "../api/problem";
import { i18n } from "../texts";

/** What could not be opened last, until something else is. */
export const unopened = shallowRef<{ readonly address: string; readonly problem: ApiProblem }>();

/** Says that what stands at this address of the browser could not be loaded. */
export function notOpened(address: string): void {
  unopened.value = { address, problem: new ApiProblem(0, i18n.global.t("common.part.unopened")) };
}

/** Loads a part of the page that is shown; if that fails, it is said. */
export async function part<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (thrown) {
    notOpened(location.href);
    throw thrown;
  }
}
