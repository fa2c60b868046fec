export default {
  title: "Configure",
};
