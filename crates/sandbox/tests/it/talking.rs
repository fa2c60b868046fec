//! Commands that are talked to: servers on standard input and output.

use crate::support::{World, end, eventually, launcher, working_in};
use mainpath_sandbox::{GracePeriods, How, Launcher, Talking};
use mainpath_types::FileAccess;
use std::ffi::OsStr;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

fn talk(world: &World, command: &str, env: &[(&str, &str)]) -> Talking {
    talk_by(&launcher(), world, command, env)
}

fn talk_by(launcher: &Launcher, world: &World, command: &str, env: &[(&str, &str)]) -> Talking {
    let words = ["sh", "-c", command].map(OsStr::new);
    let env: Vec<_> = env.iter().map(|(name, value)| (name.into(), value.into())).collect();
    launcher.command(&words, &world.workspace, "t/1", &world.cage(FileAccess::WorkspaceWrite), &env).unwrap()
}

#[tokio::test]
async fn a_server_reads_answers_and_complains_on_streams_of_its_own() {
    let world = World::new();
    let command = "echo begun >&2; while read line; do echo \"got $line $SERVER_MODE\"; done; echo end >&2";
    let Talking { mut stdin, stdout, mut stderr, process } = talk(&world, command, &[("SERVER_MODE", "test")]);
    let mut answers = BufReader::new(stdout).lines();
    for word in ["one", "two"] {
        stdin.write_all(format!("{word}\n").as_bytes()).await.unwrap();
        assert_eq!(answers.next_line().await.unwrap(), Some(format!("got {word} test")));
    }
    // The end of its input is its own to see.
    drop(stdin);
    assert_eq!(answers.next_line().await.unwrap(), None);
    let mut complaints = String::new();
    stderr.read_to_string(&mut complaints).await.unwrap();
    assert_eq!(complaints, "begun\nend\n");
    assert_eq!(end(process).await.how, How::Exit(0));
}

#[tokio::test]
async fn a_server_that_is_dropped_dies_with_its_children() {
    let world = World::new();
    let talking =
        talk(&world, "trap '' TERM HUP; sleep 1000 & touch ready; while :; do read line || sleep 1; done", &[]);
    eventually("the server", || world.workspace.join("ready").exists()).await;
    assert!(working_in(&world.workspace) >= 2);
    drop(talking);
    eventually("its end", || working_in(&world.workspace) == 0).await;
}

#[tokio::test]
async fn a_server_that_is_asked_to_end_may_say_goodbye() {
    let world = World::new();
    // Long enough for every machine.
    let patient = launcher().grace(GracePeriods { after_term: Duration::from_secs(60), ..GracePeriods::default() });
    let command = "trap 'echo bye; exit 3' TERM; touch ready; while :; do sleep 0.01; done";
    let mut talking = talk_by(&patient, &world, command, &[]);
    eventually("the server", || world.workspace.join("ready").exists()).await;
    talking.process.end().await;
    let mut said = String::new();
    talking.stdout.read_to_string(&mut said).await.unwrap();
    assert_eq!((said.as_str(), end(talking.process).await.how), ("bye\n", How::Exit(3)));
}
