import type { Texts } from "../en";

const configure: Texts["configure"] = {
  title: "配置",
};

export default configure;
