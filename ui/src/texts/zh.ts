import type { Texts } from "./en";
import common from "./zh/common";
import compare from "./zh/compare";
import configure from "./zh/configure";
import inbox from "./zh/inbox";
import run from "./zh/run";
import runs from "./zh/runs";

const zh: Texts = { common, runs, run, inbox, compare, configure };

export default zh;
