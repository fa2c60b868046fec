//! The examples run, and do what they say.

#[path = "../../examples/approvals_over_http.rs"]
mod approvals_over_http;
#[path = "../../examples/core_alone.rs"]
mod core_alone;
#[path = "../../examples/hello.rs"]
mod hello;
#[path = "../../examples/many_agents.rs"]
mod many_agents;
#[path = "../../examples/own_grader.rs"]
mod own_grader;
#[path = "../../examples/own_hook.rs"]
mod own_hook;
#[path = "../../examples/own_model.rs"]
mod own_model;
#[path = "../../examples/own_tool_and_rules.rs"]
mod own_tool_and_rules;
#[path = "../../examples/policy_in_code.rs"]
mod policy_in_code;
#[path = "../../examples/resume_after_crash.rs"]
mod resume_after_crash;
#[path = "../../examples/watch_agents.rs"]
mod watch_agents;

#[tokio::test]
async fn the_smallest_host_gives_an_answer() {
    assert_eq!(hello::hello().await.unwrap(), "It has three words.");
}

#[tokio::test]
async fn a_hook_changes_a_call_and_is_told_of_the_end() {
    assert_eq!(own_hook::audited().await.unwrap(), ["HELLO", "run 1 ended: \"final\""]);
}

#[tokio::test]
async fn a_request_approves_a_call() {
    assert_eq!(approvals_over_http::approve_over_http().await.unwrap(), "The report is written.");
}

#[tokio::test]
async fn fifty_agents_at_once_use_what_each_uses() {
    assert_eq!(many_agents::many(50).await.unwrap(), 50 * 320);
}

#[tokio::test]
async fn a_trace_and_its_agents_are_watched_in_one_stream() {
    let mut answers = watch_agents::watch().await.unwrap();
    assert_eq!(answers.pop().unwrap(), "Two herons, both in the north.");
    answers.sort();
    assert_eq!(answers, ["None.", "Two herons."]);
}

#[tokio::test]
async fn rules_in_code_allow_one_call_and_deny_another() {
    let ended = own_tool_and_rules::pay().await.unwrap();
    let calls: Vec<&str> = ended.iter().filter_map(|line| line.split_once(": ").map(|(_, how)| how)).collect();
    assert_eq!(calls, ["denied", "executed"]);
}

#[tokio::test]
async fn a_policy_in_code_judges_every_call() {
    assert_eq!(
        policy_in_code::refund().await.unwrap(),
        ["refund: allow by run.allow.1", "list_files: deny by run.deny.1"]
    );
}

#[tokio::test]
async fn a_model_of_ones_own_answers() {
    assert_eq!(own_model::backwards().await.unwrap(), "cba");
}

#[test]
fn the_core_alone_decides_events() {
    let names = core_alone::talk().unwrap();
    assert_eq!((names.first(), names.last()), (Some(&"spec_changed"), Some(&"run_finished")));
}

#[tokio::test]
async fn another_host_finishes_what_one_began() {
    assert_eq!(resume_after_crash::crash_and_resume().await.unwrap(), "It is made.");
}

#[tokio::test]
async fn a_program_grades_runs_by_its_own_code() {
    let report = own_grader::grade().await.unwrap();
    assert!(report.passed);
    assert_eq!(report.runs[0].results[0].reason, "19 bytes");
}
