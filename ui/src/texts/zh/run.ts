import type { Texts } from "../en";

const run: Texts["run"] = { title: "运行" };

export default run;
