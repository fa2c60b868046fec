export default { title: "Runs" };
