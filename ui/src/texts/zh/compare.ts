import type { Texts } from "../en";

const compare: Texts["compare"] = {
  title: "对比",
};

export default compare;
