export default { title: "Run" };
