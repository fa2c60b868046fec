export default {
  title: "Compare",
};
