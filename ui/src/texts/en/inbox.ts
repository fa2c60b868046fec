export default {
  title: "Inbox",
};
