use crate::Place;
use mainpath_index::{Index, IndexError};

#[tokio::test]
async fn words_are_found_where_they_were_said_in_any_script() {
    let place = Place::new();
    place
        .talk("latin", &[("Why does authentication fail?", "The Token has expired: ERR_TOKEN_42 in src/auth.rs")])
        .await;
    place.talk("chinese", &[("用户登录失败，请检查日志", "已经修复登录问题")]).await;
    assert_eq!(place.found("auth"), ["latin 1 user auth", "latin 2 assistant auth"], "by the beginning of a word");
    assert_eq!(place.found("EXPIRED token"), ["latin 2 assistant expired"], "in any case, all of the words");
    assert_eq!(place.found("err_token_42"), ["latin 2 assistant ERR_TOKEN_42"]);
    assert_eq!(place.found("src/auth.rs"), ["latin 2 assistant src/auth.rs"]);
    assert_eq!(place.found("登录"), ["chinese 1 user 登录", "chinese 2 assistant 登录"]);
    assert_eq!(place.found("录失"), ["chinese 1 user 录失"], "any part of a text");
    assert_eq!(place.found("日"), ["chinese 1 user 日"]);
    assert_eq!(place.found("录登"), Vec::<String>::new());
    assert_eq!(place.found("登录 日志"), ["chinese 1 user 登录"]);
    assert_eq!(place.found("\"; DROP TABLE trace; --"), Vec::<String>::new(), "a search is no command");
    assert_eq!(place.found("NOT expired OR"), Vec::<String>::new(), "nor an expression");
    let index = place.index();
    assert!(matches!(index.search("?! …", 10, None), Err(IndexError::NoWords(_))));
    assert_eq!(index.search("auth", 1, None).unwrap().len(), 1);
}

#[tokio::test]
async fn what_was_found_is_read_in_parts_and_each_place_once() {
    let place = Place::new();
    for trace in ["first", "second"] {
        let said: Vec<(String, String)> = (0..4).map(|n| (format!("heron {n}"), format!("a heron {n}"))).collect();
        place.talk(trace, &said.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect::<Vec<_>>()).await;
    }
    let whole = place.found("heron");
    assert_eq!(whole.len(), 16);
    let index = place.index();
    for most in 1..=5 {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let hits = index.search("heron", most, after.as_ref()).unwrap();
            let Some(last) = hits.last() else { break };
            after = Some(last.place());
            found.extend(
                hits.iter().map(|hit| format!("{} {} {} {}", hit.row.trace, hit.seq, hit.role, hit.shown.found)),
            );
        }
        assert_eq!(found, whole, "{most} at a time");
    }
}

#[tokio::test]
async fn what_lies_in_a_blob_is_found_as_far_as_a_quarter_of_a_megabyte() {
    let place = Place::new();
    let filler = |bytes: usize| "a stork stands there\n".repeat(bytes / 21);
    let text = format!("{}firstneedle {} secondneedle {} lastneedle", filler(17_000), filler(200_000), filler(90_000));
    place.talk_of_blobs("long", &[text.as_str()]).await;
    assert_eq!(place.found("firstneedle"), ["long 1 user firstneedle"]);
    assert_eq!(place.found("secondneedle"), ["long 1 user secondneedle"]);
    assert_eq!(place.found("lastneedle"), Vec::<String>::new(), "what lies further back is not searched");
    // Of a trace with a great many long texts the beginnings are searched all the same.
    let many: Vec<String> =
        (0..24).map(|n| format!("begins{n} {} middle{n} {}", filler(17_000), filler(240_000))).collect();
    place.talk_of_blobs("many", &many.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert_eq!(place.found("begins23"), ["many 47 user begins23"]);
    assert_eq!((place.found("middle3").len(), place.found("middle23").len()), (1, 0));
    Index::forget(&place.store, &place.scope, &["long".parse().unwrap(), "many".parse().unwrap()]).unwrap();
    assert_eq!(place.index().search("stork", 10, None).unwrap(), []);
}

#[tokio::test]
async fn what_is_forgotten_is_in_no_file_any_more() {
    let place = Place::new();
    let many = "the heron ".repeat(300);
    place.talk("gone", &[("a heron secretword", &many), ("another secretword", "秘密苍鹭")]).await;
    place.talk("stays", &[("a heron elsewhere", "yes")]).await;
    assert_eq!(place.found("secretword").len(), 2);
    Index::forget(&place.store, &place.scope, &["gone".parse().unwrap()]).unwrap();
    for name in ["index.sqlite", "index.sqlite-wal"] {
        let Ok(bytes) = std::fs::read(place.file(name)) else { continue };
        for word in ["secretword", "秘密", "苍"] {
            assert!(!bytes.windows(word.len()).any(|at| at == word.as_bytes()), "{word} in {name}");
        }
    }
    let index = place.index();
    assert_eq!(index.search("heron", 10, None).unwrap().len(), 1);
    assert_eq!(index.newest(10).unwrap().1, 1);
}
