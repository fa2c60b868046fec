import common from "./en/common";
import compare from "./en/compare";
import configure from "./en/configure";
import inbox from "./en/inbox";
import run from "./en/run";
import runs from "./en/runs";

const en = { common, runs, run, inbox, compare, configure };

/** Every text of the UI. A language that lacks one is a type error. */
export type Texts = typeof en;

export default en;
