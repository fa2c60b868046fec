import type { Texts } from "../en";

const inbox: Texts["inbox"] = {
  title: "收件箱",
};

export default inbox;
