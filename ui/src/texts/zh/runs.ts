import type { Texts } from "../en";

const runs: Texts["runs"] = { title: "运行列表" };

export default runs;
